// @ts-check
import { addressOf } from "../base/addresses.js";
import { ratingStep } from "../base/colours.js";
import { cut, element, link } from "../base/dom.js";
import { counted, number } from "../base/wording.js";
import { cellAddress, graphAddress, measured, rated, reportAddress } from "./map_state.js";
import { besides, squarified } from "./treemap.js";

/** @typedef {import("../api.d.ts").Cell} Cell */
/** @typedef {import("../base/view.js").View} View */
/** @typedef {import("./map_state.js").MapState} MapState */

/**
 * Communities as rectangles, moved between by arrow keys.
 * @param {View} view
 * @param {MapState} state
 * @param {import("../api.d.ts").CommunityCells} found at least one cell of it has a value
 * @param {(cell: Cell) => void} point called with the community that is pointed at
 * @param {() => void} up called where one wants out of what is shown
 * @returns {{frame: HTMLElement, lay: () => void}} `lay` is called once it stands on the page, so that nothing moves later
 */
export function treemap(view, state, found, point, up) {
  const cells = found.cells.filter((cell) => cell.value > 0);
  const shown = cells.map((cell) => treemapCell(view, state, cell));
  const values = cells.map((cell) => cell.value);
  if (found.rest?.value) {
    shown.push(restCell(view, found.rest.communities));
    values.push(found.rest.value);
  }
  const label = `Communities, the area of each by ${state.measure}. Arrow keys move, Enter opens, Escape goes up.`;
  const frame = element("ul", { class: "treemap", "aria-label": label }, ...shown);
  /** @type {import("./treemap.js").Rectangle[]} */
  let rectangles = [];
  const lay = () => {
    const { clientWidth, clientHeight } = frame;
    if (!clientWidth || !clientHeight) return;
    rectangles = squarified(values, clientWidth, clientHeight);
    shown.forEach((node, place) => {
      setRectangle(node, /** @type {import("./treemap.js").Rectangle} */ (rectangles[place]));
    });
  };
  const watcher = new ResizeObserver(lay);
  watcher.observe(frame);
  view.signal.addEventListener("abort", () => watcher.disconnect());

  let current = 0;
  const opener = (/** @type {number} */ place) =>
    /** @type {HTMLElement} */ (shown[place]?.firstElementChild);
  const turnTo = (/** @type {number} */ place) => {
    opener(current).tabIndex = -1;
    current = place;
    opener(current).tabIndex = 0;
  };
  turnTo(0);
  shown.forEach((node, place) => {
    const cell = cells[place];
    if (cell) node.addEventListener("pointerenter", () => point(cell));
    node.addEventListener("focusin", () => {
      turnTo(place);
      if (cell) point(cell);
    });
  });
  frame.addEventListener("keydown", (event) => {
    const next = stepped(rectangles, current, event);
    if (next === null) return;
    event.preventDefault();
    if (event.key === "Escape") return up();
    turnTo(next);
    opener(next).focus();
  });
  return { frame, lay };
}

/**
 * Where a key leads.
 * @param {import("./treemap.js").Rectangle[]} rectangles
 * @param {number} from
 * @param {KeyboardEvent} event
 * @returns {number | null} null where it is not for the map
 */
function stepped(rectangles, from, event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return null;
  switch (event.key) {
    case "ArrowLeft":
    case "ArrowRight":
    case "ArrowUp":
    case "ArrowDown":
      return besides(rectangles, from, event.key);
    case "Home":
      return 0;
    case "End":
      return rectangles.length - 1;
    case "Escape":
      return from;
    default:
      return null;
  }
}

/**
 * @param {View} view
 * @param {MapState} state
 * @param {Cell} cell
 * @returns {HTMLElement}
 */
function treemapCell(view, state, cell) {
  const title = cut(cell.title, 120);
  const numbers = `${measured(cell, state.measure)} · ${rated(cell)}`;
  const open = link(
    cellAddress(view, cell),
    element("bdi", { class: "treemap-title" }, title),
    " ",
    element(
      "span",
      { class: "treemap-numbers" },
      element("span", {}, measured(cell, state.measure)),
      " · ",
      element("span", {}, rated(cell)),
    ),
  );
  open.classList.add("treemap-open");
  open.tabIndex = -1;
  open.dataset.keep = `cell ${cell.community_id}`;
  const leads = cell.children ? `opens its ${counted(cell.children, "part")}` : "opens its report";
  open.title = `${cut(cell.title, 1000)}\n${numbers}; ${leads}`;
  open.setAttribute("aria-label", `${title} ${numbers}; ${leads}`);
  const ways = element(
    "span",
    { class: "treemap-ways" },
    link(reportAddress(view, cell.community_id), "Report"),
    link(graphAddress(view, cell.community_id), "Graph"),
  );
  for (const way of ways.querySelectorAll("a")) {
    way.tabIndex = -1;
    way.setAttribute("aria-label", `${way.textContent} of ${title}`);
  }
  return element("li", { class: "treemap-cell", "data-rating": ratingStep(cell.rating) }, open, ways);
}

/**
 * @param {View} view
 * @param {number} communities
 * @returns {HTMLElement}
 */
function restCell(view, communities) {
  const told = `and ${number(communities)} smaller`;
  const open = link(
    addressOf(view.place.corpus, "tables", "communities"),
    element("span", { class: "treemap-title" }, told),
  );
  open.classList.add("treemap-open");
  open.tabIndex = -1;
  open.title = `${told} communities. Opens the list of all.`;
  return element("li", { class: "treemap-cell treemap-rest" }, open);
}

/**
 * @param {HTMLElement} node
 * @param {import("./treemap.js").Rectangle} rectangle
 */
function setRectangle(node, { x, y, width, height }) {
  Object.assign(node.style, { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
  const large = width >= 200 && height >= 130;
  const line = large ? 21 : 17;
  const numbers = width < 200 ? 40 : 20;
  const room = height - 12 - line;
  const told = width >= 110 && room >= numbers;
  const ways = width >= 140 && room >= numbers + 30;
  const lines = 1 + Math.floor((room - (told ? numbers : 0) - (ways ? 30 : 0)) / line);
  node.style.setProperty("--lines", String(Math.min(lines, 4)));
  node.classList.toggle("has-text", width >= 76 && room >= 0);
  node.classList.toggle("is-small", width < 110);
  node.classList.toggle("has-numbers", told);
  node.classList.toggle("has-ways", ways);
  node.classList.toggle("is-large", large);
}
