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
 * A text without case and accents; letter by letter the same as at once.
 * @param {string} text
 * @returns {string}
 */
export function folded(text) {
  return text.normalize("NFD").replaceAll(/\p{M}/gu, "").toLowerCase().replaceAll("ς", "σ");
}

/**
 * Where words stand in a text, whatever their case and accents: each range holds whole characters.
 * @param {string} text
 * @param {string[]} words folded
 * @returns {{begin: number, end: number}[]} of UTF-16 units, by word, each from the left
 */
export function foldedRanges(text, words) {
  /** @type {{begin: number, end: number}[]} the character that each folded unit comes from */
  const from = [];
  let plain = "";
  let at = 0;
  for (const character of text) {
    const letters = folded(character);
    const end = at + character.length;
    // An accent that stands behind its letter belongs to it.
    const last = from.at(-1);
    if (!letters && last) last.end = end;
    const place = { begin: at, end };
    for (let n = 0; n < letters.length; n += 1) from.push(place);
    plain += letters;
    at = end;
  }
  const ranges = [];
  for (const word of words.filter(Boolean)) {
    for (let found = plain.indexOf(word); found >= 0; found = plain.indexOf(word, found + word.length)) {
      const last = from[found + word.length - 1];
      ranges.push({ begin: from[found]?.begin ?? 0, end: last?.end ?? text.length });
    }
  }
  return ranges;
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
