// @ts-check

import { element } from "../base/dom.js";
import { number } from "../base/wording.js";
import { markdown } from "../markdown/markdown.js";
import { supportSentence } from "./answer_facts.js";
import { drawMarks, textWithMarks } from "./answer_marks.js";
import { citeMark, sourceEntry } from "./citations.js";
import { markDoubts } from "./doubts.js";
import { answerTrace } from "./trace.js";

/** @typedef {import("../api.d.ts").AnswerBody} AnswerBody */
/** @typedef {import("../api.d.ts").Source} Source */
/** @typedef {{statements: ReadonlySet<import("../api.d.ts").Statement>, sources: ReadonlySet<Source>}} Alone what no other answer has */

const NARROW = 800;
const KNOWLEDGE = /^LLM:\s?verify$/i;
const NOTHING_NEAR =
  "No model was called: no sentence that was read is close enough to the question. Try the documents' own words and names.";
/** @type {Alone} */
const NOTHING_ALONE = { statements: new Set(), sources: new Set() };

/**
 * An answer: its text with marks, statements in doubt, sources, and how it came about.
 * @param {import("../base/view.js").View} view
 * @param {AnswerBody} answer
 * @param {import("../base/hover_card.js").HoverCard} card
 * @param {Alone} [alone]
 * @returns {{text: HTMLElement, sources: HTMLElement}}
 */
export function answerView(view, answer, card, alone = NOTHING_ALONE) {
  const entries = new Map(
    answer.sources.map((one) => [one.number, { one, entry: sourceEntry(view, one, alone.sources.has(one)) }]),
  );
  const mark = (/** @type {string} */ label) => {
    const cited = /^\d{1,6}$/.test(label) ? entries.get(Number(label)) : undefined;
    if (cited) return citeMark(view, cited.one, cited.entry, card);
    return KNOWLEDGE.test(label) ? element("span", { class: "knowledge" }, "[general knowledge]") : null;
  };
  const said = element("div", { class: "said" }, ...markdown(textWithMarks(answer), mark));
  drawMarks(said);
  const doubts = markDoubts(said, answer.statements, alone.statements, card);
  const text = element(
    "div",
    { class: answer.refused ? "answer-text refused" : "answer-text" },
    answer.heading && element("p", { class: "heading muted" }, answer.heading),
    said,
    ...refusalReasons(answer),
    element("div", { class: "answer-below" }, doubts, ...checked(answer), answerTrace(view, answer)),
  );
  return { text, sources: sourcesView(entries, alone !== NOTHING_ALONE) };
}

/**
 * @param {Map<number, {one: Source, entry: HTMLElement}>} entries
 * @param {boolean} compared where there is little room, they are folded then
 */
function sourcesView(entries, compared) {
  if (!entries.size) return element("div", { class: "sources" });
  const listed = [...entries.values()].map(({ entry }) => entry);
  return element(
    "details",
    { class: "sources", open: !compared || innerWidth > NARROW },
    element("summary", {}, element("h4", {}, `Sources (${number(entries.size)})`)),
    element("ol", {}, ...listed),
  );
}

/** @param {AnswerBody} answer */
function refusalReasons(answer) {
  if (!answer.refused) return [];
  const quotes = answer.engine === "extractive" && answer.context.length > 0 && !answer.sources.length;
  return [quotes && element("p", { class: "muted" }, NOTHING_NEAR)];
}

/** @param {AnswerBody} answer */
function checked(answer) {
  const support = answer.refused ? "" : supportSentence(answer);
  const problems = answer.problems.map((one) => element("li", {}, element("bdi", {}, one)));
  return [
    answer.why &&
      element(
        "p",
        { class: "why-way" },
        element("span", { class: "muted" }, "Why this method: "),
        element("bdi", {}, answer.why),
      ),
    support && element("p", { class: "support" }, support),
    problems.length > 0 &&
      element(
        "div",
        { class: "problems" },
        element("p", {}, "Could not be used:"),
        element("ul", {}, ...problems),
      ),
  ];
}
