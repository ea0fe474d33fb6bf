// @ts-check

import { element } from "../base/dom.js";
import { counted, number } from "../base/wording.js";
import { supportCounts } from "./answer_facts.js";
import { inCommon, MATCHED_BY } from "./differences.js";

/** @typedef {import("../api.d.ts").AnswerBody} AnswerBody */
/** @typedef {import("./answer_view.js").Alone} Alone */

/**
 * What two answers have in common and apart, and what only each of them has.
 * @param {string[]} methods their names
 * @param {AnswerBody[]} answers two of them
 * @returns {{summary: HTMLElement, alone: Alone[]} | null}
 */
export function comparisonView(methods, answers) {
  const [one, other] = answers;
  const [first = "", second = ""] = methods;
  if (!one || !other) return null;
  const common = inCommon(one, other);
  const alone = [one, other].map((answer, side) => ({
    statements: without(
      answer.statements,
      common.statements.map((pair) => pair[side]),
    ),
    sources: without(
      answer.sources,
      common.sources.map((pair) => pair[side]),
    ),
  }));
  const counts = (/** @type {"statements" | "sources"} */ what, /** @type {string} */ singular) => {
    const together = counted(common[what].length, singular);
    const apart = alone.map((each, side) => `${number(each[what].size)} only in ${side ? second : first}`);
    return `${together} in common, ${apart.join(", ")}.`;
  };
  const summary = element(
    "section",
    { class: "comparison" },
    element(
      "div",
      {},
      element("p", { class: "in-common" }, counts("statements", "statement")),
      element("p", {}, counts("sources", "source")),
      element("p", { class: "muted" }, "What only one answer says has a dotted underline. ", MATCHED_BY),
    ),
    costs(first, second, one, other),
  );
  return { summary, alone };
}

/**
 * @template T
 * @param {T[]} all
 * @param {(T | undefined)[]} some
 * @returns {Set<T>}
 */
function without(all, some) {
  return new Set(all.filter((one) => !some.includes(one)));
}

/**
 * @param {string} first
 * @param {string} second
 * @param {AnswerBody} one
 * @param {AnswerBody} other
 */
function costs(first, second, one, other) {
  const of = (/** @type {AnswerBody} */ answer) => {
    const support = supportCounts(answer);
    const { calls, input_tokens, output_tokens } = answer.usage;
    return [
      number(support.all),
      number(support.partly + support.not),
      number(answer.sources.length),
      number(answer.context.length),
      answer.seconds === null ? "–" : `${number(answer.seconds)} s`,
      number(calls),
      number(input_tokens + output_tokens),
    ];
  };
  const titles = [
    "Statements",
    "Of these, in doubt",
    "Sources",
    "Items read",
    "Time",
    "Model calls",
    "Model tokens",
  ];
  const [left, right] = [of(one), of(other)];
  const rows = titles.map((title, place) =>
    element(
      "tr",
      { class: left[place] === right[place] ? null : "differs" },
      element("th", { scope: "row" }, title),
      element("td", {}, left[place]),
      element("td", {}, right[place]),
    ),
  );
  const head = element(
    "tr",
    {},
    element("td"),
    element("th", { scope: "col" }, element("bdi", {}, first)),
    element("th", { scope: "col" }, element("bdi", {}, second)),
  );
  return element("table", { class: "costs" }, element("thead", {}, head), element("tbody", {}, ...rows));
}
