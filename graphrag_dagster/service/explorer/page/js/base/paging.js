// @ts-check
import { addressWith } from "./addresses.js";
import { button, element, fill, link } from "./dom.js";
import { troubled } from "./parts.js";
import { number } from "./wording.js";

/**
 * A list that grows by a button until it shows all.
 * @template T
 * @param {object} options
 * @param {T[]} options.held those that are here already
 * @param {number} options.total how many there are
 * @param {number} options.atOnce how many are shown at first, and more at each press
 * @param {string} options.what they are, in the plural
 * @param {(one: T) => HTMLElement} options.draw
 * @param {(offset: number) => Promise<T[]>} options.load those after so many
 * @param {AbortSignal} options.signal
 * @returns {HTMLElement}
 */
export function growing({ held, total, atOnce, what, draw, load, signal }) {
  const list = element("ul", { class: "plain" });
  const foot = element("p", { class: "more" });
  const have = [...held];
  const drawMore = () => {
    const from = list.children.length;
    for (const one of have.slice(from, from + atOnce)) list.append(element("li", {}, draw(one)));
    const shown = list.children.length;
    const left = total - shown;
    fill(foot);
    if (left <= 0) return;
    const next = number(Math.min(left, atOnce));
    const more = button(`Show ${next} more`, () => grow(shown));
    fill(
      foot,
      more,
      element("span", { class: "muted" }, ` ${number(shown)} of ${number(total)} ${what} shown`),
    );
  };
  /** @param {number} shown */
  const grow = async (shown) => {
    try {
      while (have.length < Math.min(total, shown + atOnce)) {
        const loaded = await load(have.length);
        if (signal.aborted) return;
        if (!loaded.length) break;
        have.push(...loaded);
      }
    } catch (error) {
      if (!signal.aborted)
        fill(
          foot,
          troubled(error, () => grow(shown)),
        );
      return;
    }
    if (have.length <= shown) total = shown;
    drawMore();
    const first = /** @type {HTMLElement | undefined} */ (list.children[shown]);
    first?.setAttribute("tabindex", "-1");
    first?.focus({ preventScroll: true });
  };
  drawMore();
  return element("div", { class: "growing" }, list, foot);
}

/**
 * Links to what comes before and after a stretch of many; nothing where it is all.
 * @param {import("./addresses.js").Place} place
 * @param {object} stretch
 * @param {string} stretch.key of the query that tells where it begins
 * @param {number} stretch.offset
 * @param {number} stretch.size
 * @param {number} stretch.total
 * @param {string} stretch.what such as Rows
 * @param {string} stretch.label for people who hear where they are
 * @returns {HTMLElement | null}
 */
export function stretches(place, { key, offset, size, total, what, label }) {
  if (total <= size && offset === 0) return null;
  const last = Math.min(offset + size, total);
  const earlier = offset > 0 ? addressWith(place, { [key]: Math.max(0, offset - size) || null }) : "";
  const later = last < total ? addressWith(place, { [key]: last }) : "";
  return element(
    "nav",
    { class: "stretches", "aria-label": label },
    earlier ? link(earlier, "← Earlier") : element("span", { class: "muted" }, "← Earlier"),
    element("span", {}, `${what} ${number(Math.min(offset + 1, total))}–${number(last)} of ${number(total)}`),
    later ? link(later, "Later →") : element("span", { class: "muted" }, "Later →"),
  );
}
