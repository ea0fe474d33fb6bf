// @ts-check
import { addressOf } from "../base/addresses.js";
import { element, link, name } from "../base/dom.js";
import { counted, number } from "../base/wording.js";

/** @typedef {import("../api.d.ts").Cell} Cell */

/**
 * A community in a line, with a link to it.
 * @param {Cell} cell
 * @param {string} corpus
 * @returns {HTMLElement}
 */
export function cellLine(cell, corpus) {
  const rating = cell.rating === null ? "" : ` · importance ${number(cell.rating)} of 10`;
  return element(
    "div",
    { class: "cell-line" },
    element("span", { class: "level" }, `C${cell.level}`),
    element(
      "div",
      {},
      link(addressOf(corpus, "community", cell.community_id), name(cell.title)),
      element("span", { class: "muted" }, ` ${counted(cell.size, "member")}${rating}`),
    ),
  );
}
