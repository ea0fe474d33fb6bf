// @ts-check
import { addressOf } from "../base/addresses.js";
import { element, fill, link } from "../base/dom.js";
import { section } from "../base/parts.js";
import { corpusPath } from "../base/source.js";
import { titled } from "../base/view.js";
import { counted, moment, number } from "../base/wording.js";
import { FIRST_TABLES, TABLE_LINES } from "./table_lines.js";
import { showTable } from "./table_view.js";

/** @typedef {import("../base/view.js").View} View */
/** @typedef {import("../api.d.ts").TableView} TableView */

/**
 * Show the tables that can be looked through, or one of them.
 * @param {View} view
 */
export async function showTables(view) {
  if (view.place.id) return showTable(view);
  const { place, source, main, signal } = view;
  titled("Browse", view);
  /** @type {TableView[]} */
  const tables = await source.get(corpusPath(place.corpus, "tables"));
  if (signal.aborted) return;
  const first = FIRST_TABLES.flatMap((wanted) => tables.filter((one) => one.name === wanted));
  const others = tables.filter((one) => !FIRST_TABLES.includes(one.name));
  fill(
    main,
    element("h1", {}, "Browse"),
    element("p", { class: "lead" }, browseTold(view)),
    view.overview.notes.length > 0 &&
      element("ul", { class: "notes muted" }, ...view.overview.notes.map((note) => element("li", {}, note))),
    element("ul", { class: "tables first" }, ...first.map((one) => tableCard(view, one))),
    others.length > 0 &&
      section(
        "More tables",
        element("ul", { class: "tables" }, ...others.map((one) => tableCard(view, one))),
      ),
    section(
      "What changed",
      element(
        "p",
        {},
        link(addressOf(place.corpus, "changes"), "Compare this snapshot with an earlier one"),
        ".",
      ),
    ),
  );
}

/**
 * @param {View} view
 * @returns {string}
 */
function browseTold(view) {
  const { counts, published } = view.overview;
  const made = `${counted(counts.documents, "document")} of ${counted(counts.tokens, "token")}`;
  const when = published ? `, indexed ${moment(published)}` : "";
  return `${made}${when}.`;
}

/**
 * @param {View} view
 * @param {TableView} table
 * @returns {HTMLElement}
 */
function tableCard(view, table) {
  return element(
    "li",
    { class: "table-card" },
    element(
      "p",
      {},
      link(addressOf(view.place.corpus, "tables", table.name), table.title),
      element("span", { class: "count" }, number(table.rows), element("span", { class: "unseen" }, " rows")),
    ),
    TABLE_LINES[table.name] ? element("p", { class: "muted" }, TABLE_LINES[table.name]) : null,
  );
}
