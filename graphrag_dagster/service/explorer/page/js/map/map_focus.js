// @ts-check

/**
 * What the map was of, and what had the focus on it, by its name there.
 * @typedef {{within: string, focused: boolean, name: string}} MapBefore
 */

/**
 * Look at the map before it is drawn anew.
 * @param {HTMLElement} main
 * @returns {MapBefore | null} null where something else is shown
 */
export function mapBefore(main) {
  const stage = /** @type {HTMLElement | null} */ (main.querySelector(".map-stage"));
  if (!stage) return null;
  const active = document.activeElement;
  const focused = active instanceof HTMLElement && active !== main && main.contains(active);
  return { within: stage.dataset.within ?? "", focused, name: (focused && active.dataset.keep) || "" };
}

/**
 * Give the focus back: to what had it, to the community that was left, or else to the first one. A map of
 * something else is seen from its top.
 * @param {HTMLElement} main
 * @param {MapBefore | null} before
 * @param {import("../api.d.ts").CommunityCells} found
 */
export function refocus(main, before, found) {
  if (!before) return;
  if (before.focused) {
    const communities = [before.within, found.cells[0]?.community_id ?? ""];
    const names = [before.name, ...communities.flatMap((one) => [`cell ${one}`, `list ${one}`])];
    const places = [...names.map((name) => `[data-keep="${CSS.escape(name)}"]`), ".map-none a", ".map-bar a"];
    const nodes = places.map((place) => /** @type {HTMLElement | null} */ (main.querySelector(place)));
    nodes.find((node) => node?.checkVisibility())?.focus({ preventScroll: true });
  }
  const bar = main.querySelector(".map-bar");
  if (bar && before.within !== (found.within?.community_id ?? "") && bar.getBoundingClientRect().top < 0)
    bar.scrollIntoView();
}
