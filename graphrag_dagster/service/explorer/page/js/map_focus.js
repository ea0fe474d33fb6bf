// @ts-check

/**
 * What has the focus on the map, by its name there, and what the map is of.
 * @typedef {{name: string, within: string | undefined}} MapFocus
 */

/**
 * Look where the focus is, before the map is drawn anew.
 * @param {HTMLElement} main
 * @returns {MapFocus | null} null where it is elsewhere
 */
export function focusOnMap(main) {
  const active = document.activeElement;
  if (!(active instanceof HTMLElement) || !main.contains(active) || !active.dataset.keep) return null;
  const stage = /** @type {HTMLElement | null} */ (main.querySelector(".map-stage"));
  return { name: active.dataset.keep, within: stage?.dataset.within };
}

/**
 * Give the focus back: to what had it, to the community that was left, or else to the first community.
 * @param {HTMLElement} main
 * @param {MapFocus | null} focus
 * @param {import("./api.d.ts").CommunityCells} found
 */
export function refocus(main, focus, found) {
  if (!focus) return;
  const names = [focus.name, `cell ${focus.within}`, `cell ${found.cells[0]?.community_id}`];
  const places = [...names.map((name) => `[data-keep="${CSS.escape(name)}"]`), ".map-none a"];
  for (const place of places) {
    const node = /** @type {HTMLElement | null} */ (main.querySelector(place));
    if (!node?.checkVisibility()) continue;
    node.focus({ preventScroll: true });
    break;
  }
  const stage = main.querySelector(".map-stage");
  if (stage && stage.getBoundingClientRect().bottom < 0) stage.scrollIntoView();
}
