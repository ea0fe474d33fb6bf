// @ts-check
import { addressOf, addressWith } from "../base/addresses.js";
import { called } from "../base/columns.js";
import { element, link, name } from "../base/dom.js";
import { foldedText } from "../base/parts.js";
import { moment, number } from "../base/wording.js";

/** @typedef {import("../api.d.ts").TablePage} TablePage */
/** @typedef {import("../api.d.ts").TableColumn} TableColumn */
/** @typedef {TablePage["rows"][number][number]} TableCell */

const LONGEST_CELL = 140;
const LONG_CELL = 40;
const MOMENTS = new Set(["begun", "decided_at"]);
const MONEY = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 3 });

/**
 * A region of its own in which a table that is wider than the page is moved, by keys as well.
 * @param {HTMLElement} table
 * @param {string} label
 * @returns {HTMLElement}
 */
export function dataTable(table, label) {
  return element("div", { class: "data-table", role: "region", "aria-label": label, tabindex: 0 }, table);
}

/**
 * Rows of a table whose headings sort it.
 * @param {import("../base/view.js").View} view
 * @param {TablePage} page
 * @returns {HTMLElement}
 */
export function sortableTable(view, page) {
  const shown = page.columns.flatMap((column, at) => (column.hidden ? [] : [{ column, at }]));
  return element(
    "table",
    {},
    element("thead", {}, element("tr", {}, ...shown.map(({ column }) => columnHead(view, column)))),
    element(
      "tbody",
      {},
      ...page.rows.map((row) =>
        element(
          "tr",
          {},
          ...shown.map(({ column, at }) =>
            tableCell(column, row[at] ?? null, cellParts(view, page, row, column, at)),
          ),
        ),
      ),
    ),
  );
}

/**
 * @param {TableColumn} column
 * @param {TableCell} value
 * @param {(Node | string)[]} parts
 * @returns {HTMLElement}
 */
function tableCell(column, value, parts) {
  if (column.type === "number") return element("td", { class: "number" }, ...parts);
  const long = String(value ?? "").length > LONG_CELL;
  return element("td", {}, element("div", { class: long ? "cell long" : "cell" }, ...parts));
}

/**
 * @param {import("../base/view.js").View} view
 * @param {TableColumn} column
 * @returns {HTMLElement}
 */
function columnHead(view, column) {
  const { query } = view.place;
  const sorted = query.get("sort") === column.name;
  const descending = sorted && query.get("descending") === "true";
  // Of numbers the largest are looked for, of texts the beginning of the alphabet.
  const next = sorted ? !descending : column.type === "number";
  const to = link(
    addressWith(view.place, { sort: column.name, descending: next, offset: null }),
    called(column.name),
    element("span", { class: "arrow", "aria-hidden": "true" }, sorted ? (descending ? "▼" : "▲") : "↕"),
  );
  to.title = column.meaning;
  to.dataset.column = column.name;
  const way = sorted ? (descending ? "descending" : "ascending") : null;
  return element(
    "th",
    { scope: "col", class: column.type === "number" ? "number" : null, "aria-sort": way },
    to,
  );
}

/**
 * @param {import("../base/view.js").View} view
 * @param {TablePage} page
 * @param {TablePage["rows"][number]} row
 * @param {TableColumn} column
 * @param {number} at
 * @returns {(Node | string)[]}
 */
function cellParts(view, page, row, column, at) {
  const value = row[at] ?? null;
  if (value === null || value === "" || (Array.isArray(value) && !value.length))
    return [element("span", { class: "muted" }, "–")];
  const leads = page.links[column.name];
  const id = leads && row[page.columns.findIndex((one) => one.name === leads.column)];
  if (leads && typeof id === "string")
    return [link(addressOf(view.place.corpus, leads.kind, id), name(String(value)))];
  if (typeof value === "number") return [column.name === "usd" ? MONEY.format(value) : number(value)];
  if (typeof value === "boolean") return [value ? "yes" : "no"];
  if (Array.isArray(value)) return [foldedText(value.join(" · "), LONGEST_CELL, called(column.name))];
  if (MOMENTS.has(column.name)) return [moment(value)];
  return [foldedText(value, LONGEST_CELL, called(column.name))];
}
