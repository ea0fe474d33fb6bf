// @ts-check
import { addressOf, addressWith, numberIn } from "../base/addresses.js";
import { called } from "../base/columns.js";
import { cut, element, fill, link } from "../base/dom.js";
import { orGone } from "../base/gone.js";
import { stretches } from "../base/paging.js";
import { facts } from "../base/parts.js";
import { corpusPath } from "../base/source.js";
import { titled } from "../base/view.js";
import { counted, number } from "../base/wording.js";
import { dataTable, sortableTable } from "./sortable_table.js";
import { EMPTY_TABLES, TABLE_LINES } from "./table_lines.js";

/** @typedef {import("../base/view.js").View} View */
/** @typedef {import("../api.d.ts").TablePage} TablePage */
/** @typedef {import("../api.d.ts").TableView} TableView */

const LIMIT = 100;
const AFTER_TYPING_MS = 350;

/**
 * Show a table. What is there of it already stays, so that a filter can be written on while rows come.
 * @param {View} view
 */
export async function showTable(view) {
  const { place, source, main, signal } = view;
  const { query } = place;
  const descending = query.get("descending") === "true" || null;
  const filter = query.get("filter");
  const order = {
    sort: query.get("sort"),
    descending,
    filter,
    offset: numberIn(place, "offset", 0),
    limit: LIMIT,
  };
  const of = `${place.corpus} ${place.id}`;
  const there = /** @type {HTMLElement | null} */ (main.querySelector(".table-page"));
  if (there?.dataset.of === of) there.setAttribute("aria-busy", "true");
  const loading = Promise.all([
    source.get(corpusPath(place.corpus, "tables")),
    source.get(corpusPath(place.corpus, "tables", place.id), order),
  ]);
  const found = await orGone(view, "table", loading);
  if (!found || signal.aborted) return;
  const [tables, page] = /** @type {[TableView[], TablePage]} */ (found);
  const title = tables.find((one) => one.name === place.id)?.title ?? place.id;
  titled(title, view);
  const frame = there?.dataset.of === of ? there : tableFrame(view, title, page);
  frame.dataset.of = of;
  if (frame !== there) fill(main, frame);
  frame.removeAttribute("aria-busy");
  fillFrame(view, frame, page, title);
}

/**
 * @param {View} view
 * @param {string} title
 * @param {TablePage} page
 * @returns {HTMLElement}
 */
function tableFrame(view, title, page) {
  const { corpus } = view.place;
  const line = TABLE_LINES[page.name];
  return element(
    "div",
    { class: "table-page" },
    element("p", { class: "kicker" }, link(addressOf(corpus, "tables"), "All tables")),
    element("h1", {}, title),
    line ? element("p", { class: "lead" }, line) : null,
    element(
      "div",
      { class: "table-bar" },
      filterForm(),
      element("p", { role: "status" }),
      element("p", { class: "export" }),
    ),
    dataTable(element("table"), title),
    element("div", { class: "table-foot" }),
    columnMeanings(page),
  );
}

/**
 * @param {View} view
 * @param {HTMLElement} frame
 * @param {TablePage} page
 * @param {string} title
 */
function fillFrame(view, frame, page, title) {
  const { place, source } = view;
  const filter = place.query.get("filter") ?? "";
  const field = /** @type {HTMLInputElement} */ (frame.querySelector("input"));
  if (document.activeElement !== field) field.value = filter;
  fill(/** @type {HTMLElement} */ (frame.querySelector("[role=status]")), tableTold(page, filter));
  const csv = source.address(`${corpusPath(place.corpus, "tables", page.name)}/csv`, {
    sort: place.query.get("sort"),
    descending: place.query.get("descending"),
    filter,
  });
  fill(
    /** @type {HTMLElement} */ (frame.querySelector(".export")),
    csv &&
      page.total > 0 &&
      element(
        "a",
        { href: csv, download: `${place.corpus} ${page.name}.csv` },
        filter ? "Export these rows as CSV" : "Export as CSV",
      ),
  );
  const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.column;
  const region = /** @type {HTMLElement} */ (frame.querySelector(".data-table"));
  const across = region.scrollLeft;
  fill(region, page.rows.length ? sortableTable(view, page) : emptyTable(view, page, filter));
  region.scrollTo({ left: across, top: 0 });
  if (focused) headOf(region, focused)?.focus({ preventScroll: true });
  const stretch = {
    key: "offset",
    offset: page.offset,
    size: LIMIT,
    total: page.matching,
    what: "Rows",
    label: `Rows of ${title}`,
  };
  fill(/** @type {HTMLElement} */ (frame.querySelector(".table-foot")), stretches(place, stretch));
}

/**
 * @param {HTMLElement} region
 * @param {string} column
 * @returns {HTMLElement | undefined}
 */
function headOf(region, column) {
  const heads = /** @type {NodeListOf<HTMLElement>} */ (region.querySelectorAll("th a"));
  return [...heads].find((one) => one.dataset.column === column);
}

/**
 * @param {TablePage} page
 * @param {string} filter
 * @returns {string}
 */
function tableTold(page, filter) {
  if (!filter) return counted(page.total, "row");
  return `${number(page.matching)} of ${counted(page.total, "row")} contain “${cut(filter, 60)}”`;
}

/**
 * @param {View} view
 * @param {TablePage} page
 * @param {string} filter
 * @returns {HTMLElement}
 */
function emptyTable(view, page, filter) {
  if (page.matching)
    return element(
      "p",
      { class: "empty" },
      "There are no rows at this position. ",
      link(addressWith(view.place, { offset: null }), "Go to the first rows"),
    );
  if (filter && page.total)
    return element(
      "p",
      { class: "empty" },
      "No row contains all of these words. ",
      link(addressWith(view.place, { filter: null, offset: null }), "Show all rows"),
    );
  return element("p", { class: "empty" }, EMPTY_TABLES[page.name] ?? "This table has no rows.");
}

/**
 * @returns {HTMLElement}
 */
function filterForm() {
  const field = /** @type {HTMLInputElement} */ (
    element("input", {
      type: "search",
      id: "filter",
      autocomplete: "off",
      placeholder: "Words to filter rows by",
    })
  );
  const form = element("form", { class: "filter" }, element("label", { for: "filter" }, "Filter"), field);
  let waiting = 0;
  const apply = () => {
    clearTimeout(waiting);
    // The address knows which table this is by now, and how it is sorted.
    const [path = "", query = ""] = location.hash.split(/\?(.*)/s);
    const told = new URLSearchParams(query);
    if ((told.get("filter") ?? "") === field.value.trim() || !form.isConnected) return;
    told.delete("offset");
    if (field.value.trim()) told.set("filter", field.value.trim());
    else told.delete("filter");
    location.replace(told.size ? `${path}?${told}` : path);
  };
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(apply, AFTER_TYPING_MS);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    apply();
  });
  return form;
}

/**
 * @param {TablePage} page
 * @returns {HTMLElement}
 */
function columnMeanings(page) {
  const shown = page.columns.filter((one) => !one.hidden);
  return element(
    "details",
    { class: "meanings" },
    element("summary", {}, "What the columns mean"),
    facts(shown.map((one) => [called(one.name), `${one.meaning}.`])),
  );
}
