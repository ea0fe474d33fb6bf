// @ts-check
import { addressOf, addressWith, levelIn } from "../base/addresses.js";
import { corpusPath } from "../base/source.js";
import { counted, number } from "../base/wording.js";

/** @typedef {import("../api.d.ts").Cell} Cell */
/** @typedef {import("../base/view.js").View} View */

/**
 * What of the map an address asks for.
 * @typedef {object} MapState
 * @property {string | null} within id of a community
 * @property {number | null} level k of Ck; null for what a community was split into
 * @property {"members" | "tokens"} measure
 * @property {"treemap" | "graph"} shown what a small screen has room for
 */

/**
 * @param {import("../base/addresses.js").Place} place
 * @returns {MapState}
 */
export function mapState(place) {
  return {
    within: place.query.get("within") || null,
    level: levelIn(place),
    measure: place.query.get("measure") === "tokens" ? "tokens" : "members",
    shown: place.query.get("view") === "graph" ? "graph" : "treemap",
  };
}

/**
 * The communities of the map. What is usual is not told, so that a file need hold it once only.
 * @param {View} view
 * @param {MapState} state
 * @returns {Promise<import("../api.d.ts").CommunityCells>}
 */
export function communitiesOf(view, { within, level, measure }) {
  return view.source.get(corpusPath(view.place.corpus, "communities"), {
    within,
    level,
    measure: measure === "members" ? null : measure,
  });
}

/**
 * The graph of the map.
 * @param {View} view
 * @param {MapState} state
 * @returns {Promise<import("../api.d.ts").Drawn>}
 */
export function drawnOf(view, { within, level }) {
  return view.source.get(corpusPath(view.place.corpus, "drawn"), { within, level });
}

/**
 * Where a community is opened: what it was split into, else its page.
 * @param {View} view
 * @param {Cell} cell
 * @returns {string}
 */
export function cellAddress(view, cell) {
  return cell.children ? zoomAddress(view, cell.community_id) : reportAddress(view, cell.community_id);
}

/**
 * @param {View} view
 * @param {string | null} within
 * @returns {string}
 */
export function zoomAddress(view, within) {
  return addressWith(view.place, { within, level: null });
}

/**
 * @param {View} view
 * @param {string} community
 * @returns {string}
 */
export function graphAddress(view, community) {
  return addressWith(view.place, { within: community, level: null, view: "graph" });
}

/**
 * @param {View} view
 * @param {string} community
 * @returns {string}
 */
export function reportAddress(view, community) {
  return addressOf(view.place.corpus, "community", community);
}

/**
 * What is measured of a community, with its unit.
 * @param {Cell} cell
 * @param {MapState["measure"]} measure
 * @returns {string}
 */
export function measured(cell, measure) {
  return counted(cell.value, measure === "tokens" ? "token" : "member");
}

/**
 * @param {Cell} cell
 * @returns {string}
 */
export function rated(cell) {
  return cell.rating === null ? "not rated" : `importance ${number(cell.rating)}`;
}

/**
 * The numbers of a community in words.
 * @param {Cell} cell
 * @param {MapState["measure"]} measure
 * @returns {string}
 */
export function cellNumbers(cell, measure) {
  const told = [counted(cell.size, "member")];
  if (measure === "tokens") told.push(counted(cell.value, "token"));
  told.push(rated(cell));
  if (cell.children) told.push(counted(cell.children, "part"));
  return told.join(", ");
}

/**
 * The first sentence of a text that may be cut; a very short one with the next.
 * @param {string} text
 * @returns {string}
 */
export function firstSentence(text) {
  const segmenter = new Intl.Segmenter("en", { granularity: "sentence" });
  let told = "";
  for (const { segment } of segmenter.segment(text)) {
    told += segment;
    if (told.trim().length >= 25) break;
  }
  return told.trim();
}
