// @ts-check
import { element } from "../base/dom.js";

/** Noncharacters, which no text has: they stand for the ends of marks until the Markdown is drawn. */
const MARK_BEGIN = "\uFDD0";
const MARK_END = "\uFDD1";
const MARK_SIGN = /[\uFDD0\uFDD1]/;
const MARK_DRAWN = /\uFDD0([^\uFDD0\uFDD1]+)\uFDD1/;

/**
 * The text of an answer with a sign at each end of its marks.
 * @param {import("../api.d.ts").AnswerBody} answer
 * @returns {string}
 */
export function textWithMarks({ text, marks }) {
  // Places count code points, which a string of this language does not.
  const letters = Array.from(text.replaceAll(new RegExp(MARK_SIGN, "g"), "\uFFFD"));
  /** @type {string[]} */
  const pieces = [];
  let done = 0;
  for (const { start, end } of marks) {
    pieces.push(...letters.slice(done, start), MARK_BEGIN, ...letters.slice(start, end), MARK_END);
    done = end;
  }
  return [...pieces, ...letters.slice(done)].join("");
}

/**
 * Draw marks in bold where they stand in prose, and take their signs out everywhere.
 * @param {Element} root
 */
export function drawMarks(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  /** @type {Text[]} */
  const nodes = [];
  while (walker.nextNode()) nodes.push(/** @type {Text} */ (walker.currentNode));
  for (const node of nodes.filter((one) => MARK_SIGN.test(one.data))) {
    const isProse = !node.parentElement?.closest("code, a");
    const pieces = isProse ? node.data.split(MARK_DRAWN) : [node.data];
    const drawn = pieces
      .map((piece) => piece.replaceAll(MARK_BEGIN, "").replaceAll(MARK_END, ""))
      .map((piece, place) => (place % 2 ? element("strong", {}, piece) : piece));
    node.replaceWith(...drawn.filter((one) => one !== ""));
  }
}
