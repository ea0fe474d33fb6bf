// @ts-check

/** @typedef {import("../api.d.ts").TablePage} TablePage */

/**
 * Rows of a whole table, as the server chooses them.
 * @param {TablePage} whole
 * @param {import("../base/source.js").Query} query
 * @returns {TablePage}
 */
export function tablePageOf(whole, query) {
  const words = wordsOf(String(query.filter ?? ""));
  const rows = whole.rows.filter((row) => hasAll(row.map(String).join("\n"), words));
  const place = whole.columns.findIndex((column) => column.name === query.sort);
  if (place >= 0) {
    const turn = String(query.descending) === "true" ? -1 : 1;
    rows.sort((one, other) => byValue(one[place], other[place], turn));
  }
  const offset = Number(query.offset ?? 0);
  const shown = rows.slice(offset, offset + Number(query.limit ?? 100));
  return { ...whole, rows: shown, matching: rows.length, offset };
}

/**
 * The words of a text, without case and accents.
 * @param {string} text
 * @returns {string[]}
 */
export function wordsOf(text) {
  return folded(text).split(/\s+/).filter(Boolean);
}

/**
 * Whether a text has all words, whatever their case and accents.
 * @param {string} text
 * @param {string[]} words folded
 * @returns {boolean}
 */
export function hasAll(text, words) {
  const whole = folded(text);
  return words.every((word) => whole.includes(word));
}

/**
 * A text without case and accents.
 * @param {string} text
 * @returns {string}
 */
export function folded(text) {
  return text.normalize("NFD").replaceAll(/\p{M}/gu, "").toLowerCase();
}

/**
 * What is missing comes last, whichever way the rows are sorted.
 * @param {any} one
 * @param {any} other
 * @param {number} turn
 * @returns {number}
 */
function byValue(one, other, turn) {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  if (typeof one === "number" && typeof other === "number") return turn * (one - other);
  return turn * String(one).localeCompare(String(other));
}
