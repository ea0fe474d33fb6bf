// @ts-check

/**
 * What a page is given to draw itself.
 * @typedef {object} View
 * @property {import("./addresses.js").Place} place
 * @property {import("./source.js").Source} source
 * @property {import("../api.d.ts").Overview} overview of the corpus
 * @property {HTMLElement} main what it fills
 * @property {AbortSignal} signal aborted when another page takes its place
 */

/**
 * Name the page, in the tab and at its head.
 * @param {string} title
 * @param {View} view
 */
export function titled(title, view) {
  document.title = `${title} · ${view.place.corpus}`;
}
