// @ts-check
import { button, element, fill } from "./dom.js";
import { beginningOf } from "./place.js";

/** @typedef {import("./dom.js").Child} PartChild */

/**
 * A part of a page under its own heading.
 * @param {string} title
 * @param {...(PartChild | PartChild[])} children
 * @returns {HTMLElement}
 */
export function section(title, ...children) {
  return element("section", {}, element("h2", { tabindex: -1 }, title), ...children);
}

/**
 * Buttons that lead to the sections of a long page.
 * @param {[string, HTMLElement | false][]} places label and section
 * @returns {HTMLElement}
 */
export function jumps(places) {
  const there = places.flatMap(([label, at]) => (at ? [{ label, at }] : []));
  return element(
    "nav",
    { class: "jumps", "aria-label": "On this page" },
    ...there.map(({ label, at }) => button(label, () => jumpTo(at), { class: "quiet" })),
  );
}

/**
 * @param {HTMLElement} at
 */
function jumpTo(at) {
  if (at instanceof HTMLDetailsElement) at.open = true;
  at.scrollIntoView({ block: "start" });
  /** @type {HTMLElement | null} */ (at.querySelector("h2, summary"))?.focus({ preventScroll: true });
}

/**
 * Terms and what is to be said of each; those without are left out.
 * @param {[string, PartChild | PartChild[]][]} told
 * @returns {HTMLElement}
 */
export function facts(told) {
  const list = element("dl", { class: "facts-list" });
  for (const [term, value] of told) {
    const parts = [value]
      .flat()
      .filter((one) => one !== null && one !== undefined && one !== false && one !== "");
    if (parts.length) list.append(element("dt", {}, term), element("dd", {}, ...parts));
  }
  return list;
}

/**
 * A text that is cut where it is long, with a button that shows all of it.
 * @param {string} text
 * @param {number} longest
 * @param {string} [what] that the text is, for people who hear the button
 * @returns {HTMLElement}
 */
export function foldedText(text, longest, what = "the text") {
  const short = beginningOf(text, longest);
  const shown = element("bdi", {}, short);
  if (short === text) return shown;
  const more = button("more", () => {
    const opened = more.getAttribute("aria-expanded") === "true";
    shown.textContent = opened ? short : text;
    more.textContent = opened ? "more" : "less";
    more.setAttribute("aria-expanded", String(!opened));
  });
  more.classList.add("quiet", "fold");
  more.setAttribute("aria-expanded", "false");
  more.setAttribute("aria-label", `more of ${what}`);
  return element("span", {}, shown, " ", more);
}

/**
 * A part that is loaded when it is unfolded.
 * @param {string} title
 * @param {string} waiting what is said while it loads
 * @param {AbortSignal} signal
 * @param {() => Promise<Node>} load
 * @returns {HTMLElement}
 */
export function unfolding(title, waiting, signal, load) {
  const inside = element("div", { class: "unfolded" });
  const made = /** @type {HTMLDetailsElement} */ (
    element(
      "details",
      { class: "unfolding" },
      element("summary", {}, element("h2", { class: "unfolding-title" }, title)),
      inside,
    )
  );
  const loaded = async () => {
    fill(inside, element("p", { class: "remark", role: "status" }, waiting));
    try {
      const found = await load();
      if (!signal.aborted) fill(inside, found);
    } catch (error) {
      if (signal.aborted) return;
      fill(inside, troubled(error, loaded));
    }
  };
  made.addEventListener("toggle", () => made.open && !inside.hasChildNodes() && loaded(), { signal });
  return made;
}

/**
 * What is said within a page of a part that cannot be shown.
 * @param {unknown} error
 * @param {() => void} again
 * @returns {HTMLElement}
 */
export function troubled(error, again) {
  const text = error instanceof Error ? error.message : String(error);
  return element("p", { class: "remark" }, `${text} `, button("Try again", again));
}
