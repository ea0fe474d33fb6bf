// @ts-check
import { element } from "../base/dom.js";
import { folded, wordsOf } from "../embedded/embedded_tables.js";

/**
 * What marks the words of a query in a text, whatever their case and accents.
 * @param {string} query
 * @returns {(text: string) => (Node | string)[]}
 */
export function markerOf(query) {
  const words = [...new Set(wordsOf(query))];
  return (text) => {
    /** @type {number[]} where in the text each folded unit comes from */
    const from = [];
    let plain = "";
    let at = 0;
    for (const character of text) {
      const letters = folded(character);
      for (let n = 0; n < letters.length; n += 1) from.push(at);
      plain += letters;
      at += character.length;
    }
    from.push(at);
    return piecesOf(
      text,
      wordRanges(plain, words).map(([start, end]) => [from[start] ?? 0, from[end] ?? at]),
    );
  };
}

/**
 * @param {string} plain
 * @param {string[]} words
 * @returns {[number, number][]} in order, none inside of another
 */
function wordRanges(plain, words) {
  /** @type {[number, number][]} */
  const found = [];
  for (const word of words) {
    for (let at = plain.indexOf(word); at >= 0; at = plain.indexOf(word, at + word.length))
      found.push([at, at + word.length]);
  }
  found.sort(([one], [other]) => one - other);
  /** @type {[number, number][]} */
  const joined = [];
  for (const [start, end] of found) {
    const last = joined.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else joined.push([start, end]);
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
