// @ts-check
import { ratingScale } from "../base/colours.js";
import { element, fill, link, name } from "../base/dom.js";
import { counted } from "../base/wording.js";
import { cellAddress, cellNumbers, firstSentence, graphAddress, reportAddress } from "./map_state.js";

/** @typedef {import("../api.d.ts").Cell} Cell */
/** @typedef {import("../base/view.js").View} View */
/** @typedef {import("./map_state.js").MapState} MapState */

/**
 * What the colours of the map stand for.
 * @param {Cell[]} cells
 * @returns {HTMLElement}
 */
export function ratingLegend(cells) {
  const swatch = (/** @type {number} */ step) =>
    element("span", { class: "rating-swatch", "data-rating": step, "aria-hidden": "true" });
  const steps = ratingScale().map(({ step, from, to }) => element("li", {}, swatch(step), `${from}–${to}`));
  if (cells.some((cell) => cell.rating === null)) steps.push(element("li", {}, swatch(0), "not rated"));
  return element(
    "div",
    { class: "rating-legend" },
    element("span", { id: "rating-legend" }, "Colour: importance, 0 to 10"),
    element("ul", { "aria-labelledby": "rating-legend" }, ...steps),
  );
}

/**
 * Say more of a community that is pointed at.
 * @param {HTMLElement} card
 * @param {View} view
 * @param {MapState} state
 * @param {Cell} cell
 */
export function fillCommunityCard(card, view, state, cell) {
  const report = link(reportAddress(view, cell.community_id), "Read the report");
  const graph = link(graphAddress(view, cell.community_id), "Show its graph");
  const parts =
    cell.children > 0 && link(cellAddress(view, cell), `Show its ${counted(cell.children, "part")}`);
  fill(
    card,
    element("h3", {}, name(cell.title)),
    element("p", { class: "muted" }, `C${cell.level} · ${cellNumbers(cell, state.measure)}`),
    element("p", { class: "map-sentence" }, element("bdi", {}, firstSentence(cell.summary))),
    element("p", { class: "map-ways" }, report, graph, parts),
  );
}
