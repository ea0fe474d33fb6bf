// @ts-check
import { foldedCase, wordsOf } from "./marked_words.js";
import { corpusPath, SourceError } from "./source.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {import("./api.d.ts").TablePage} TablePage */
/** @typedef {import("./api.d.ts").Found} Found */
/** @typedef {TablePage["rows"][number]} TableRow */
/** @typedef {{sort: string, descending: boolean, filter: string, offset: number, limit: number}} TableOrder */

/** Rows of a table that a file holds; the server gives as many at once. */
export const MOST_HELD = 1_000;

/**
 * Rows of a table as the server would give them; of a file, made of what it holds.
 * @param {View} view
 * @param {string} table
 * @param {TableOrder} order
 * @returns {Promise<TablePage>}
 */
export async function tableRows(view, table, order) {
  const path = corpusPath(view.place.corpus, "tables", table);
  if (view.source.live) return view.source.get(path, { ...order, descending: order.descending || null });
  const held = await heldTable(view, table);
  const rows = sortedRows(held, fittingRows(held, wordsOf(order.filter)), order);
  return {
    ...held,
    rows: rows.slice(order.offset, order.offset + order.limit),
    matching: rows.length,
    offset: order.offset,
  };
}

/**
 * What has the words of a query, of a file that holds tables but no search.
 * @param {View} view
 * @param {string} query
 * @param {number} limit
 * @returns {Promise<Found>}
 */
export async function heldFound(view, query, limit) {
  const words = wordsOf(query);
  /** @param {string} table @param {string[]} columns */
  const look = async (table, columns) => {
    const held = await heldTable(view, table).catch((error) => {
      if (error instanceof SourceError) return null;
      throw error;
    });
    if (!held) return [];
    const fitting = held.rows.filter((row) =>
      hasAll(columns.map((name) => cellOf(held, row, name)).join(" "), words),
    );
    return fitting.map((row) => Object.fromEntries(held.columns.map((one, place) => [one.name, row[place]])));
  };
  const entities = await look("entities", ["title", "names"]);
  const reports = await look("communities", ["title"]);
  const documents = await look("documents", ["title", "path"]);
  const snippet = { before: "", words: "", after: "" };
  return {
    query,
    entities: /** @type {any[]} */ (entities.slice(0, limit).map((one) => ({ ...one, name: one.title }))),
    entities_total: entities.length,
    reports: /** @type {any[]} */ (reports.slice(0, limit).map((one) => ({ ...one, snippet }))),
    reports_total: reports.length,
    documents: /** @type {any[]} */ (documents.slice(0, limit)),
    documents_total: documents.length,
    passages: [],
    passages_total: 0,
  };
}

/**
 * @param {View} view
 * @param {string} table
 * @returns {Promise<TablePage>}
 */
function heldTable(view, table) {
  return view.source.get(corpusPath(view.place.corpus, "tables", table), { limit: MOST_HELD, offset: 0 });
}

/**
 * @param {TablePage} held
 * @param {TableRow} row
 * @param {string} column
 * @returns {TableRow[number]}
 */
function cellOf(held, row, column) {
  return row[held.columns.findIndex((one) => one.name === column)] ?? null;
}

/**
 * @param {string} text
 * @param {string[]} words
 * @returns {boolean}
 */
function hasAll(text, words) {
  const folded = foldedCase(text);
  return words.every((word) => folded.includes(word));
}

/**
 * @param {TablePage} held
 * @param {string[]} words
 * @returns {TableRow[]}
 */
function fittingRows(held, words) {
  if (!words.length) return held.rows;
  const texts = held.columns.flatMap(({ type, hidden }, place) =>
    !hidden && (type === "text" || type === "list") ? [place] : [],
  );
  return held.rows.filter((row) => hasAll(texts.map((place) => row[place] ?? "").join(" "), words));
}

/**
 * @param {TablePage} held
 * @param {TableRow[]} rows
 * @param {TableOrder} order
 * @returns {TableRow[]}
 */
function sortedRows(held, rows, { sort, descending }) {
  const place = held.columns.findIndex((one) => one.name === sort);
  if (place < 0) return rows;
  const collator = new Intl.Collator("en", { sensitivity: "base" });
  const way = descending ? -1 : 1;
  return [...rows].sort((one, other) => {
    const [a, b] = [one[place] ?? null, other[place] ?? null];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    if (typeof a === "number" && typeof b === "number") return way * (a - b);
    return way * collator.compare(String(a), String(b));
  });
}
