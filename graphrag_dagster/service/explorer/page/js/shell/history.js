// @ts-check
import { addressOf } from "../base/addresses.js";
import { button, cut, element, link } from "../base/dom.js";
import { moment } from "../base/wording.js";
import { keep, kept } from "./shell.js";

/** @typedef {{question: string, method: string, level: number | null, compare: string, asked: string}} AskedBefore */

const HISTORY_KEPT = 50;
const HISTORY_LABEL = 160;

/**
 * The questions that this browser asked a corpus before, the last first.
 * @param {string} corpus
 * @returns {AskedBefore[]}
 */
function askedBefore(corpus) {
  let read;
  try {
    read = JSON.parse(kept(historyKey(corpus)) ?? "[]");
  } catch {
    return [];
  }
  return Array.isArray(read) ? read.filter(isAsked).slice(0, HISTORY_KEPT) : [];
}

/**
 * Keep a question, in front of the others.
 * @param {string} corpus
 * @param {Omit<AskedBefore, "asked">} asked
 */
export function keepAsked(corpus, asked) {
  const same = (/** @type {AskedBefore} */ one) =>
    one.question === asked.question &&
    one.method === asked.method &&
    one.level === asked.level &&
    one.compare === asked.compare;
  const others = askedBefore(corpus).filter((one) => !same(one));
  const all = [{ ...asked, asked: new Date().toISOString() }, ...others].slice(0, HISTORY_KEPT);
  keep(historyKey(corpus), JSON.stringify(all));
}

/**
 * The address at which a question is asked.
 * @param {string} corpus
 * @param {Omit<AskedBefore, "asked">} asked
 * @returns {string}
 */
export function askAddress(corpus, { question, method, level, compare }) {
  return addressOf(corpus, "ask", "", { q: question, method, level, compare });
}

/**
 * The list of earlier questions, which can be cleared.
 * @param {string} corpus
 * @returns {HTMLElement | null} null where there are none
 */
export function historyView(corpus) {
  const before = askedBefore(corpus);
  if (!before.length) return null;
  const listed = before.map((one) =>
    element(
      "li",
      {},
      link(askAddress(corpus, one), element("bdi", {}, cut(one.question, HISTORY_LABEL))),
      element("span", { class: "muted" }, ` ${methodTold(one)} · ${moment(one.asked)}`),
    ),
  );
  const made = element("section", { class: "asked-before" });
  const clear = button("Clear", () => {
    keep(historyKey(corpus), "[]");
    made.remove();
  });
  made.append(
    element("h2", {}, "Earlier questions"),
    element("ul", {}, ...listed),
    element("p", { class: "muted" }, "Stored in this browser only. ", clear),
  );
  return made;
}

/** @param {AskedBefore} one */
function methodTold({ method, level, compare }) {
  const asked = level === null ? method : `${method} C${level}`;
  return compare ? `${asked} compared with ${compare}` : asked;
}

/** @param {string} corpus */
function historyKey(corpus) {
  return `graphrag_dagster.asked.${corpus}`;
}

/**
 * @param {any} one what another version of the page, or anybody, may have kept
 * @returns {one is AskedBefore}
 */
function isAsked(one) {
  const texts = [one?.question, one?.method, one?.compare, one?.asked];
  return (
    texts.every((text) => typeof text === "string") && (one.level === null || Number.isInteger(one.level))
  );
}
