// @ts-check
import { element } from "../base/dom.js";

/** @typedef {{node: Text, at: number}} LetterPlace */
/** @typedef {{begin: number, end: number}} LetterRange a range of the letters of a text */

const SENTENCE_LETTERS = /[\p{L}\p{N}]/gu;
const WITHIN_LINES = new Set(["A", "BDI", "CODE", "DEL", "EM", "STRONG"]);
const SENTENCE_END = /^[\p{M}\p{P}\p{S}]*/u;
/** Signs of Markdown that a sentence may begin with. */
export const SENTENCE_SIGN = /^\s*(?:[-*+•]|\d+[.)]|#{1,6})\s+/;

/**
 * Find sentences in what is drawn of a text, by their letters alone, and wrap each of them. What is between
 * the letters, such as signs of Markdown, may differ.
 * @template {{text: string}} S
 * @param {Element} root
 * @param {S[]} sentences in their order
 * @param {(sentence: S) => {classes: string, after: Node | null} | null} marked null leaves it as it is
 * @returns {S[]} those that were to be marked and are not in it
 */
export function markSentences(root, sentences, marked) {
  const { letters, places } = lettersOf(root);
  /** @type {{sentence: S, range: LetterRange, mark: {classes: string, after: Node | null}}[]} */
  const wanted = [];
  const missed = [];
  let from = 0;
  for (const sentence of sentences) {
    const range = sentenceIn(letters, sentence.text, from) ?? sentenceIn(letters, sentence.text, 0);
    if (range) from = range.end;
    const mark = marked(sentence);
    if (mark && range) wanted.push({ sentence, range, mark });
    else if (mark) missed.push(sentence);
  }
  // From the end on, so that places before stay where they are.
  let free = letters.length;
  for (const { sentence, range, mark } of wanted.sort((a, b) => b.range.begin - a.range.begin)) {
    if (range.end > free) missed.push(sentence);
    else wrapSentence(places.slice(range.begin, range.end), mark);
    free = Math.min(free, range.begin);
  }
  return missed;
}

/**
 * @param {string} letters
 * @param {string} text
 * @param {number} from
 * @returns {LetterRange | null}
 */
function sentenceIn(letters, text, from) {
  for (const one of [text, text.replace(SENTENCE_SIGN, "")]) {
    const own = (one.match(SENTENCE_LETTERS) ?? []).join("");
    const begin = own ? letters.indexOf(own, from) : -1;
    if (begin >= 0) return { begin, end: begin + own.length };
  }
  return null;
}

/**
 * @param {Element} root
 * @returns {{letters: string, places: LetterPlace[]}} a place for each UTF-16 unit of the letters
 */
function lettersOf(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT, (node) =>
    node.parentElement?.closest(".cite, .doubt") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
  );
  const letters = [];
  const places = [];
  while (walker.nextNode()) {
    const node = /** @type {Text} */ (walker.currentNode);
    for (const letter of node.data.matchAll(SENTENCE_LETTERS)) {
      letters.push(letter[0]);
      for (let unit = 0; unit < letter[0].length; unit += 1) places.push({ node, at: letter.index + unit });
    }
  }
  return { letters: letters.join(""), places };
}

/**
 * @param {LetterPlace[]} places of the letters of a sentence
 * @param {{classes: string, after: Node | null}} mark
 */
function wrapSentence(places, mark) {
  /** @type {Map<Text, {begin: number, end: number}>} */
  const parts = new Map();
  for (const { node, at } of places) {
    const part = parts.get(node);
    if (part) part.end = at + 1;
    else parts.set(node, { begin: at, end: at + 1 });
  }
  const nodes = [...parts.keys()];
  let last = null;
  for (const [node, { begin, end }] of parts) {
    // Between its first and its last letter a sentence is marked whole, and with it what ends it.
    const from = node === nodes[0] ? begin : 0;
    const behind = SENTENCE_END.exec(node.data.slice(end))?.[0].length ?? 0;
    const to = node === nodes.at(-1) ? end + behind : node.data.length;
    const piece = node.splitText(from);
    piece.splitText(to - from);
    last = element("span", { class: `sentence ${mark.classes}` });
    piece.replaceWith(last);
    last.append(piece);
  }
  // What is put behind may be a button, which has no place in a link.
  while (last?.parentElement && WITHIN_LINES.has(last.parentElement.tagName)) last = last.parentElement;
  if (mark.after) last?.after(mark.after);
}
