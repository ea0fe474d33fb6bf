// @ts-check
import { addressWith } from "../base/addresses.js";
import { element, link, name } from "../base/dom.js";
import { counted } from "../base/wording.js";
import { zoomAddress } from "./map_state.js";

/** @typedef {import("../base/view.js").View} View */
/** @typedef {import("./map_state.js").MapState} MapState */
/** @typedef {import("../api.d.ts").CommunityCells} CommunityCells */

/**
 * Where on the map we are, and what is shown of it.
 * @param {View} view
 * @param {MapState} state
 * @param {CommunityCells} found
 * @returns {HTMLElement}
 */
export function mapBar(view, state, found) {
  return element(
    "div",
    { class: "map-bar" },
    crumbs(view, found),
    levelChooser(view, state, found),
    choice(
      "Shown",
      [
        ["Communities", { view: null }, state.shown === "treemap"],
        ["Graph", { view: "graph" }, state.shown === "graph"],
      ],
      view,
      "map-view",
    ),
  );
}

/**
 * @param {View} view
 * @param {MapState} state
 * @returns {HTMLElement}
 */
export function measureChooser(view, state) {
  return choice(
    "Size by",
    [
      ["members", { measure: null }, state.measure === "members"],
      ["tokens", { measure: "tokens" }, state.measure === "tokens"],
    ],
    view,
  );
}

/**
 * @param {View} view
 * @param {CommunityCells} found
 * @returns {HTMLElement}
 */
function crumbs(view, found) {
  const steps = found.path.map((cell) => {
    const step = link(zoomAddress(view, cell.community_id), name(cell.title, 40));
    step.dataset.keep = `crumb ${cell.community_id}`;
    return step;
  });
  if (found.within) {
    const whole = link(zoomAddress(view, null), "Whole corpus");
    whole.dataset.keep = "crumb";
    steps.unshift(whole);
  }
  const here = element("span", { "aria-current": "location" }, here_(found));
  return element(
    "nav",
    { class: "map-crumbs", "aria-label": "Communities above" },
    element("ol", {}, ...[...steps, here].map((step) => element("li", {}, step))),
  );
}

/**
 * @param {CommunityCells} found
 * @returns {HTMLElement | string}
 */
function here_(found) {
  return found.within ? name(found.within.title, 60) : "Whole corpus";
}

/**
 * The levels that are finer than where we are.
 * @param {View} view
 * @param {MapState} state
 * @param {CommunityCells} found
 * @returns {HTMLElement | null}
 */
function levelChooser(view, state, found) {
  const coarsest = found.within ? found.within.level + 1 : (view.overview.levels[0]?.level ?? 0);
  const levels = view.overview.levels.filter(({ level }) => level >= coarsest);
  if (levels.length < 2 || (found.within && !found.within.children)) return null;
  const current = state.level ?? coarsest;
  return choice(
    "Level",
    levels.map(({ level, communities }) => [
      `C${level}`,
      { level: level === coarsest ? null : level },
      level === current,
      found.within ? `as finely as at C${level}` : counted(communities, "community", "communities"),
    ]),
    view,
  );
}

/**
 * One of several ways to see the same, each with an address.
 * @param {string} label
 * @param {[string, Record<string, string | number | null>, boolean, string?][]} ways text, what it changes, whether it is so now, more of it
 * @param {View} view
 * @param {string} [kind] class
 * @returns {HTMLElement}
 */
function choice(label, ways, view, kind = "") {
  const made = ways.map(([text, changes, current, more]) => {
    const way = link(addressWith(view.place, changes), text);
    way.dataset.keep = `${label} ${text}`;
    if (more) way.title = more;
    if (current) way.setAttribute("aria-current", "true");
    return way;
  });
  return element(
    "div",
    { class: `map-choice ${kind}`, role: "group", "aria-label": label },
    element("span", { "aria-hidden": "true" }, label),
    ...made,
  );
}
