// @ts-check
import { element, link } from "../base/dom.js";
import { addressOfWords } from "../base/place.js";
import { number, spoken } from "../base/wording.js";
import { dataTable } from "../tables/sortable_table.js";

/** @typedef {import("../base/view.js").View} View */
/** @typedef {import("../api.d.ts").DocumentPage} DocumentPage */
/** @typedef {import("../api.d.ts").DocumentUnit} DocumentUnit */

/**
 * The text units of a document, with what was extracted from each.
 * @param {View} view
 * @param {DocumentPage} document
 * @returns {HTMLElement}
 */
export function unitTable(view, document) {
  if (!document.units_total) return element("p", { class: "remark" }, "It was not split into text units.");
  const heads = ["Unit", "Characters", "Tokens", "Extraction", "Entities", "Relationships", "Claims"];
  const body = element("tbody", {}, ...document.units.map((one) => unitRow(view, one)));
  const table = element(
    "table",
    {},
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...heads.map((one, place) =>
          element("th", { scope: "col", class: place === 3 ? null : "number" }, one),
        ),
      ),
    ),
    body,
  );
  const left = document.units_total - document.units.length;
  return element(
    "div",
    {},
    dataTable(table, "Text units of this document"),
    left > 0 && element("p", { class: "remark" }, `and ${number(left)} more, in the table of text units`),
  );
}

/**
 * @param {View} view
 * @param {DocumentUnit} unit
 * @returns {HTMLElement}
 */
function unitRow(view, unit) {
  const { start_char, end_char } = unit;
  const at = addressOfWords({ document_id: view.place.id, start_char, end_char }, view.place.corpus);
  const counts = [unit.entities, unit.relationships, unit.claims];
  return element(
    "tr",
    {},
    element("td", { class: "number" }, number(unit.position + 1)),
    element("td", { class: "number" }, link(at, `${number(start_char)}–${number(end_char)}`)),
    element("td", { class: "number" }, number(unit.tokens)),
    element("td", {}, unit.state ? spoken(unit.state) : "nothing was extracted"),
    ...counts.map((one) => element("td", { class: "number" }, number(one))),
  );
}
