// @ts-check
import { element, link } from "../base/dom.js";
import { askAddress } from "../shell/history.js";

/**
 * Questions that this corpus can be asked to begin with.
 * @param {import("../api.d.ts").Overview} overview
 * @param {number} [most]
 * @returns {HTMLElement | null} null where there are none, or the corpus cannot be asked
 */
export function exampleQuestions({ corpus, default_method, methods, questions }, most = questions.length) {
  if (!methods.length || !questions.length) return null;
  const method = default_method ?? methods[0]?.name ?? "";
  const address = (/** @type {string} */ question) =>
    askAddress(corpus, { question, method, level: null, compare: "" });
  const listed = questions
    .slice(0, most)
    .map((one) => element("li", {}, link(address(one), element("bdi", {}, one))));
  return element("ul", {}, ...listed);
}
