// @ts-check
import { addressOf } from "./addresses.js";
import { element, link, name } from "./dom.js";
import { number } from "./wording.js";

const PLACE_AROUND = 400;
const LONGEST_WORDS = 1_000;

/** @typedef {import("../api.d.ts").Place} TextPlace */
/** @typedef {import("../api.d.ts").Words} Words */

/**
 * The address of the words of a place, marked in their document.
 * @param {{document_id: string, start_char: number, end_char: number}} at
 * @param {string} corpus
 * @returns {string}
 */
export function addressOfWords(at, corpus) {
  return addressOf(corpus, "document", at.document_id, { cited: `${at.start_char}-${at.end_char}` });
}

/**
 * Words marked in their sentence, and a link that opens the document there.
 * @param {TextPlace | Words} at
 * @param {string} corpus
 * @param {(text: string) => (Node | string)[]} [mark] marks further words around them
 * @returns {HTMLElement}
 */
export function placeView(at, corpus, mark = (text) => [text]) {
  const words = "quotation" in at ? at.quotation : at.words;
  return element(
    "figure",
    { class: "place" },
    element("blockquote", {}, ...sentenceOf(at, words, mark)),
    element(
      "figcaption",
      {},
      link(addressOfWords(at, corpus), name(at.document_title)),
      element(
        "span",
        { class: "muted" },
        " ",
        element("bdi", {}, at.path),
        `, from character ${number(at.start_char)}`,
      ),
      !at.exact && element("span", { class: "muted" }, " (the passage it was found in)"),
    ),
  );
}

/**
 * @param {TextPlace | Words} at
 * @param {string} words
 * @param {(text: string) => (Node | string)[]} mark
 * @returns {Node[]}
 */
function sentenceOf(at, words, mark) {
  if (!at.exact) return [element("bdi", {}, ...mark(beginningOf(words, LONGEST_WORDS)))];
  return [
    element(
      "bdi",
      {},
      ...mark(endOf(at.before, PLACE_AROUND)),
      element("mark", {}, beginningOf(words, LONGEST_WORDS)),
      ...mark(beginningOf(at.after, PLACE_AROUND)),
    ),
  ];
}

/**
 * The first characters of a text, whole words where it is cut.
 * @param {string} text
 * @param {number} longest
 * @returns {string}
 */
export function beginningOf(text, longest) {
  if (text.length <= longest) return text;
  const kept = text.slice(0, longest).replace(/[\ud800-\udbff]$/, "");
  return `${kept.replace(/\s\S{0,40}$/, "")} …`;
}

/**
 * @param {string} text
 * @param {number} longest
 * @returns {string}
 */
function endOf(text, longest) {
  if (text.length <= longest) return text;
  const kept = text.slice(-longest).replace(/^[\udc00-\udfff]/, "");
  return `… ${kept.replace(/^\S{0,40}\s/, "")}`;
}
