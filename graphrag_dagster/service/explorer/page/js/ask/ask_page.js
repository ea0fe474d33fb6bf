// @ts-check

import { answerPanel } from "../answers/answer_panel.js";
import { runOf, stopOthers } from "../answers/answer_run.js";
import { comparisonView } from "../answers/comparison_view.js";
import { addressOf, levelIn } from "../base/addresses.js";
import { cut, element, fill, link } from "../base/dom.js";
import { hoverCard } from "../base/hover_card.js";
import { message, remark } from "../base/messages.js";
import { titled } from "../base/view.js";
import { askAddress, historyView, keepAsked } from "../shell/history.js";
import { showLogin } from "../shell/login.js";
import { exampleQuestions } from "./ask_examples.js";
import { askForm } from "./ask_form.js";

/** @typedef {import("../base/view.js").View} View */
/** @typedef {import("./ask_form.js").Asking} Asking */
/** @typedef {import("../answers/answer_run.js").AnswerRun} AnswerRun */
/** @typedef {import("../base/hover_card.js").HoverCard} HoverCard */

const ASK_TITLE = 60;
const COMPARED_LATER = "The answers are compared here once both have arrived.";
const ASK_SHOWN = 600;

/**
 * Show the page on which a corpus is asked, and ask what its address says.
 * @param {View} view
 */
export async function showAsk(view) {
  const asking = askingIn(view);
  titled(asking.question ? cut(asking.question, ASK_TITLE) : "Ask", view);
  const refused = whyNot(view);
  if (refused) return fill(view.main, refused);
  const typing = view.main.querySelector(".ask-form")?.contains(document.activeElement);
  const results = element("div", { class: "results" });
  const card = hoverCard(view.signal);
  const form = askForm(view, asking, (sent) => {
    const address = askAddress(view.overview.corpus, sent);
    if (location.hash === address) showResults(view, sent, results, card, true);
    else location.hash = address;
  });
  fill(view.main, element("h1", {}, "Ask"), form, results, card.node);
  if (typing) view.main.querySelector("textarea")?.focus({ preventScroll: true });
  if (asking.question) showResults(view, asking, results, card, false);
  else showBeginning(view, results);
}

/**
 * @param {View} view
 * @returns {Asking}
 */
function askingIn(view) {
  const { query } = view.place;
  const method = query.get("method") || view.overview.default_method || "";
  const compare = query.get("compare") ?? "";
  return {
    question: (query.get("q") ?? "").trim(),
    method,
    level: levelIn(view.place),
    compare: compare === method ? "" : compare,
  };
}

/**
 * @param {View} view
 * @returns {HTMLElement | null} what is shown in place of the page
 */
function whyNot(view) {
  const map = link(addressOf(view.overview.corpus), "Go to the map");
  if (!view.source.live)
    return message(
      "Questions need a running server",
      "Open the explorer on the corpus itself: graphrag-dagster explore",
      map,
    );
  if (!view.overview.methods.length)
    return message(
      "This corpus is not ready for questions",
      view.overview.notes[0] ?? "Its settings cannot be used.",
      map,
    );
  return null;
}

/**
 * @param {View} view
 * @param {HTMLElement} results
 */
function showBeginning(view, results) {
  const questions = exampleQuestions(view.overview);
  fill(
    results,
    element(
      "div",
      { class: "ask-start" },
      questions &&
        element("section", { class: "examples" }, element("h2", {}, "Example questions"), questions),
      historyView(view.overview.corpus),
    ),
  );
}

/**
 * @param {View} view
 * @param {Asking} asking
 * @param {HTMLElement} results
 * @param {HoverCard} card
 * @param {boolean} again ask even if there is an answer
 */
function showResults(view, asking, results, card, again) {
  const { corpus, methods } = view.overview;
  const leveled = (/** @type {string} */ method) =>
    methods.some((one) => one.name === method && one.levelled);
  const ask = [asking.method, asking.compare].filter(Boolean);
  const runs = ask.map((method) =>
    runOf(view, { question: asking.question, method, level: leveled(method) ? asking.level : null }, again),
  );
  stopOthers(runs);
  keepAsked(corpus, asking);
  const comparison = element("div", { class: ask.length > 1 ? "comparison-room" : "" });
  const answers = element("div", { class: ask.length > 1 ? "answers two" : "answers" });
  /** @type {import("../answers/answer_panel.js").AnswerPanel[]} */
  const panels = [];
  const compare = () => {
    const whole = panels.map((one) => one.run.answer).filter((one) => one !== null);
    const found = panels.length > 1 && whole.length === panels.length ? comparisonView(ask, whole) : null;
    fill(comparison, found?.summary ?? (panels.length > 1 && remark(COMPARED_LATER)));
    for (const [side, one] of panels.entries()) one.compare(found?.alone[side]);
  };
  const panel = (/** @type {AnswerRun} */ run, /** @type {number} */ place) => {
    const made = answerPanel(view, run, card, (now) => {
      if (now.error?.kind === "unauthorized") return showLogin(view.main, () => showAsk(view));
      if (now !== run) {
        panels[place] = panel(now, place);
        made.node.replaceWith(panels[place].node);
      }
      compare();
    });
    return made;
  };
  panels.push(...runs.map(panel));
  compare();
  fill(answers, ...panels.map((one) => one.node));
  fill(
    results,
    element("h2", { class: "question", dir: "auto" }, cut(asking.question, ASK_SHOWN)),
    comparison,
    answers,
    element(
      "details",
      { class: "earlier" },
      element("summary", {}, "Earlier questions"),
      historyView(corpus),
    ),
  );
}
