// @ts-check
import { ratingStep } from "../base/colours.js";
import { button, cut, element, link, name } from "../base/dom.js";
import { counted, number } from "../base/wording.js";
import { cellAddress, graphAddress, measured, rated, reportAddress } from "./map_state.js";

const ROWS = 20;

/**
 * The communities of the map as a list, with bars for what is measured.
 * @param {import("../base/view.js").View} view
 * @param {import("./map_state.js").MapState} state
 * @param {import("../api.d.ts").CommunityCells} found
 * @returns {HTMLElement}
 */
export function communityList(view, state, found) {
  const most = Math.max(...found.cells.map((cell) => cell.value), 1);
  const rows = found.cells.map((cell) => listedCommunity(view, state, cell, most));
  const list = element("ol", { class: "map-list", role: "list" }, ...rows.slice(0, ROWS));
  const shown = element("div", {}, list);
  if (rows.length > ROWS) {
    const more = button(`Show all ${counted(rows.length, "community", "communities")}`, () => {
      list.append(...rows.slice(ROWS));
      more.remove();
      /** @type {HTMLElement | null | undefined} */ (rows[ROWS]?.querySelector("a"))?.focus();
    });
    shown.append(more);
  }
  if (found.rest) {
    const { communities, value } = found.rest;
    const told = `and ${number(communities)} smaller, ${counted(value, state.measure.slice(0, -1))} together`;
    shown.append(element("p", { class: "remark" }, told));
  }
  return shown;
}

/**
 * @param {import("../base/view.js").View} view
 * @param {import("./map_state.js").MapState} state
 * @param {import("../api.d.ts").Cell} cell
 * @param {number} most
 * @returns {HTMLElement}
 */
function listedCommunity(view, state, cell, most) {
  const open = link(cellAddress(view, cell), name(cell.title));
  open.classList.add("map-name");
  open.dataset.keep = `list ${cell.community_id}`;
  const of = cut(cell.title, 120);
  const ways = [
    link(reportAddress(view, cell.community_id), "Report"),
    link(graphAddress(view, cell.community_id), "Graph"),
  ];
  for (const way of ways) way.setAttribute("aria-label", `${way.textContent} of ${of}`);
  const bar = element("span", {
    class: "map-bar-filled",
    "data-rating": ratingStep(cell.rating),
    "aria-hidden": "true",
  });
  bar.style.width = `${Math.max((100 * cell.value) / most, 0.5)}%`;
  const parts = cell.children ? ` · ${counted(cell.children, "part")}` : "";
  return element(
    "li",
    {},
    element("span", { class: "map-row" }, open, element("span", { class: "map-ways" }, ...ways)),
    element("span", { class: "map-bar-room" }, bar),
    element("span", { class: "muted" }, `${measured(cell, state.measure)} · ${rated(cell)}${parts}`),
  );
}
