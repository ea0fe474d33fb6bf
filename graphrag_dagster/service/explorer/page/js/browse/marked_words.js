// @ts-check
import { element } from "../base/dom.js";
import { foldedRanges, wordsOf } from "../embedded/embedded_tables.js";

/**
 * What marks the words of a query in a text, whatever their case and accents.
 * @param {string} query
 * @returns {(text: string) => (Node | string)[]}
 */
export function markerOf(query) {
  const words = [...new Set(wordsOf(query))];
  return (text) => piecesOf(text, joinedRanges(foldedRanges(text, words)));
}

/**
 * @param {{begin: number, end: number}[]} found
 * @returns {[number, number][]} in order, none inside of another
 */
function joinedRanges(found) {
  /** @type {[number, number][]} */
  const joined = [];
  for (const { begin, end } of found.sort((one, other) => one.begin - other.begin)) {
    const last = joined.at(-1);
    if (last && begin <= last[1]) last[1] = Math.max(last[1], end);
    else joined.push([begin, end]);
  }
  return joined;
}

/**
 * @param {string} text
 * @param {[number, number][]} ranges
 * @returns {(Node | string)[]}
 */
function piecesOf(text, ranges) {
  const pieces = [];
  let done = 0;
  for (const [start, end] of ranges) {
    if (start > done) pieces.push(text.slice(done, start));
    pieces.push(element("mark", {}, text.slice(Math.max(start, done), end)));
    done = end;
  }
  if (done < text.length) pieces.push(text.slice(done));
  return pieces;
}
