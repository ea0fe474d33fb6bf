// @ts-check

import { corpusPath } from "../base/source.js";
import { foldedRanges, hasAll, wordsOf } from "./embedded_tables.js";

/** @typedef {import("../api.d.ts").DocumentText} DocumentText */
/** @typedef {import("../api.d.ts").TextPart} TextPart */
/** @typedef {import("../api.d.ts").Found} Found */

/** Characters that are shown on either side of a word that was found. */
const AROUND = 90;

/**
 * A whole text with what is cited marked in it.
 * @param {DocumentText} whole
 * @param {string} cited such as 120-180,300-320
 * @returns {DocumentText}
 */
export function textOf(whole, cited) {
  const ranges = cited
    .split(",")
    .map((range) => range.split("-").map(Number))
    .filter(([start = Number.NaN, end = Number.NaN]) => start < end);
  const parts = ranges.reduce(
    (before, [start = 0, end = 0]) => before.flatMap((part) => marked(part, start, end)),
    whole.parts,
  );
  return { ...whole, parts };
}

/**
 * A piece of a text, divided where a range begins and ends in it.
 * @param {TextPart} part
 * @param {number} start
 * @param {number} end
 * @returns {TextPart[]}
 */
function marked(part, start, end) {
  // Places count code points, which a string of this language does not.
  const letters = Array.from(part.text);
  const from = Math.max(0, start - part.start);
  const to = Math.min(letters.length, end - part.start);
  if (from >= to) return [part];
  const pieces = [
    { from: 0, to: from, cited: part.cited },
    { from, to, cited: true },
    { from: to, to: letters.length, cited: part.cited },
  ];
  return pieces
    .filter((piece) => piece.from < piece.to)
    .map((piece) => ({
      ...part,
      start: part.start + piece.from,
      text: letters.slice(piece.from, piece.to).join(""),
      cited: piece.cited,
    }));
}

/**
 * What in the file has all words of a query.
 * @param {Record<string, any>} answers by address
 * @param {string} corpus
 * @param {string} query
 * @param {number} limit most of each sort
 * @returns {Found}
 */
export function foundIn(answers, corpus, query, limit) {
  const words = wordsOf(query);
  const under = (/** @type {string} */ kind) =>
    Object.entries(answers)
      .filter(([path]) => path.startsWith(corpusPath(corpus, kind, "")) && path.split("/").length === 5)
      .map(([, answer]) => answer)
      .filter((answer) => !Array.isArray(answer));
  const entities = under("entities").filter((one) => hasAll([one.title, ...one.names].join("\n"), words));
  const reports = under("communities").filter((one) => hasAll(`${one.title}\n${one.summary}`, words));
  const documents = under("documents");
  const titled = documents.filter((one) => hasAll(`${one.title}\n${one.path}`, words));
  const passages = documents.flatMap((one) => {
    const text = answers[corpusPath(corpus, "documents", one.document_id, "text")];
    return text ? passagesOf(one, text, words) : [];
  });
  return {
    query,
    entities: entities.slice(0, limit).map((one) => ({ ...one, name: one.title })),
    entities_total: entities.length,
    reports: reports.slice(0, limit).map((one) => ({
      ...one,
      snippet: { before: "", words: "", after: one.summary },
    })),
    reports_total: reports.length,
    documents: titled.slice(0, limit),
    documents_total: titled.length,
    passages: passages.slice(0, limit),
    passages_total: passages.length,
  };
}

/**
 * Where a document has all words; one place for each document, around the first of the words.
 * @param {any} document
 * @param {DocumentText} text
 * @param {string[]} words
 * @returns {import("../api.d.ts").Place[]}
 */
function passagesOf(document, text, words) {
  const whole = text.parts.map((part) => part.text).join("");
  if (!words.length || !hasAll(whole, words)) return [];
  const { begin = 0, end = 0 } = foldedRanges(whole, words.slice(0, 1))[0] ?? {};
  // Places count code points, and no character is cut in two.
  const before = Array.from(whole.slice(0, begin));
  const found = whole.slice(begin, end);
  return [
    {
      document_id: document.document_id,
      document_title: document.title,
      path: document.path,
      text_unit_id: "",
      start_char: before.length,
      end_char: before.length + Array.from(found).length,
      before: before.slice(-AROUND).join(""),
      words: found,
      after: Array.from(whole.slice(end, end + 2 * AROUND))
        .slice(0, AROUND)
        .join(""),
      exact: true,
    },
  ];
}
