// @ts-check
import { counted, number, spoken } from "../base/wording.js";

/** @typedef {import("../api.d.ts").AnswerBody} AnswerBody */

/** @type {Record<string, [string, string]>} what can be read, one and several of it, where an s is not all */
const READ_KINDS = {
  source: ["passage", "passages"],
  entity: ["entity", "entities"],
  summary: ["summary", "summaries"],
  community: ["community", "communities"],
};

/**
 * What an answer took, and what was left out on the way, a few words each.
 * @param {AnswerBody} answer
 * @returns {string[]}
 */
export function answerFacts(answer) {
  const { calls, input_tokens, output_tokens, repaired } = answer.usage;
  const chunks = answer.scores.length > 1 ? ` in ${counted(answer.scores.length, "chunk")}` : "";
  return [
    answer.seconds === null ? "" : `${number(answer.seconds)} s`,
    answer.engine === "extractive" && !calls ? "without a model" : counted(calls, "model call"),
    calls ? `${counted(input_tokens, "token")} in, ${number(output_tokens)} out` : "",
    answer.context.length ? `${readCounts(answer)} read${chunks}` : "",
    repaired ? `${counted(repaired, "reply", "replies")} repaired` : "",
    answer.dropped ? `${counted(answer.dropped, "partial answer")} unusable` : "",
    answer.removed_citations
      ? `${counted(answer.removed_citations, "citation")} removed, because what they cite was not read`
      : "",
  ].filter(Boolean);
}

/**
 * What an answer was written from, by kind.
 * @param {AnswerBody} answer
 * @returns {string}
 */
function readCounts({ context }) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { kind } of context) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const told = [...counts].map(([kind, count]) => {
    const [one, many] = READ_KINDS[kind] ?? [spoken(kind), `${spoken(kind)}s`];
    return counted(count, one, many);
  });
  return told.join(", ");
}

/**
 * How the statements of an answer stand to the words that they cite.
 * @param {AnswerBody} answer
 * @returns {{all: number, supported: number, partly: number, not: number, general: number}}
 */
export function supportCounts(answer) {
  const count = (/** @type {string} */ verdict) =>
    answer.statements.filter((one) => one.verdict === verdict).length;
  return {
    all: answer.statements.length,
    supported: count("supported"),
    partly: answer.partly_supported,
    not: answer.unsupported,
    general: answer.general,
  };
}

/**
 * The same in a sentence.
 * @param {AnswerBody} answer
 * @returns {string} empty where there are no statements, and where a query was run: nothing judged its result
 */
export function supportSentence(answer) {
  const counts = supportCounts(answer);
  if (!counts.all || answer.query) return "";
  const parts = [
    counts.not ? `${number(counts.not)} not supported` : "",
    counts.partly ? `${number(counts.partly)} partly supported` : "",
  ].filter(Boolean);
  const general = counts.general
    ? ` ${counted(counts.general, "statement is", "statements are")} a model's general knowledge.`
    : "";
  const judged = counts.all - counts.general;
  if (!judged) return general.trim();
  const doubtful = `Of ${counted(judged, "statement")}, ${parts.join(" and ")} by the words they cite.`;
  // A quotation says what it cites by itself, which supports nothing beyond it.
  const quoted = answer.engine === "extractive" && answer.statements.every((one) => one.similarity === 1);
  const how = quoted ? "quoted word for word" : "supported by the words";
  const cited = quoted ? "" : judged === 1 ? " it cites" : " they cite";
  const sound = `${judged === 1 ? "The statement is" : `All ${number(judged)} statements are`} ${how}${cited}.`;
  return (parts.length ? doubtful : sound) + general;
}
