// @ts-check
import { button, element } from "../base/dom.js";
import { number } from "../base/wording.js";
import { markSentences, SENTENCE_SIGN } from "./statements_marked.js";

/** @typedef {import("../api.d.ts").Statement} Statement */

/** @type {Record<string, {label: string, sign: string}>} */
const DOUBTS = {
  not: { label: "not supported", sign: "✕" },
  partly: { label: "partly supported", sign: "◐" },
  general: { label: "general knowledge", sign: "◇" },
};

/**
 * Mark the statements of a text that are in doubt, and those that no other answer has, and list the former.
 * @param {HTMLElement} text the answer as it is drawn
 * @param {Statement[]} statements
 * @param {ReadonlySet<Statement>} alone what only this answer says
 * @param {import("../base/hover_card.js").HoverCard} card
 * @returns {HTMLElement | null} the list
 */
export function markDoubts(text, statements, alone, card) {
  /** @type {Map<Statement, HTMLElement>} */
  const entries = new Map();
  for (const one of statements) if (doubtOf(one)) entries.set(one, doubtEntry(one));
  markSentences(text, statements, (one) => {
    const doubt = doubtOf(one);
    const entry = entries.get(one);
    const classes = [doubt, alone.has(one) && "alone"].filter(Boolean).join(" ");
    const label = alone.has(one) ? element("span", { class: "unseen" }, " (only here) ") : null;
    if (doubt && entry) return { classes, after: doubtSign(doubt, one, entry, card) };
    return classes ? { classes, after: label } : null;
  });
  if (!entries.size) return null;
  return element(
    "section",
    { class: "doubts" },
    element("h4", {}, "Statements in doubt"),
    element("ul", {}, ...entries.values()),
  );
}

/** @param {Statement} statement */
function doubtOf(statement) {
  if (statement.general) return "general";
  return statement.verdict === "not" || statement.verdict === "partly" ? statement.verdict : "";
}

/**
 * @param {string} doubt
 * @param {Statement} statement
 * @param {HTMLElement} entry
 * @param {import("../base/hover_card.js").HoverCard} card
 */
function doubtSign(doubt, statement, entry, card) {
  const { label = "", sign = "" } = DOUBTS[doubt] ?? {};
  const made = button(
    [element("span", { "aria-hidden": "true" }, `${sign} `), label],
    () => {
      entry.scrollIntoView({ block: "center" });
      entry.focus({ preventScroll: true });
    },
    { class: `doubt ${doubt}` },
  );
  card.attach(made, () => [element("p", {}, doubtReason(statement))]);
  return made;
}

/** @param {Statement} statement */
function doubtEntry(statement) {
  const doubt = doubtOf(statement);
  const { label = "", sign = "" } = DOUBTS[doubt] ?? {};
  return element(
    "li",
    { class: doubt, tabindex: -1 },
    element("strong", {}, element("span", { "aria-hidden": "true" }, `${sign} `), label),
    ": ",
    element("q", {}, element("bdi", {}, statement.text.replace(SENTENCE_SIGN, ""))),
    " ",
    element("span", { class: "reason" }, doubtReason(statement)),
  );
}

/** @param {Statement} statement */
function doubtReason(statement) {
  if (statement.general) return "Added from the model's general knowledge; no document is cited for it.";
  const reason = statement.reason ? `${statement.reason[0]?.toUpperCase()}${statement.reason.slice(1)}.` : "";
  const score = statement.score === null ? "" : ` Score ${number(statement.score)} of 1.`;
  return (reason || "The cited words do not fully support it.") + score;
}
