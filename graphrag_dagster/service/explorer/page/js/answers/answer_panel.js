// @ts-check

import { button, element, fill } from "../base/dom.js";
import { number } from "../base/wording.js";
import { markdown } from "../markdown/markdown.js";
import { answerFacts } from "./answer_facts.js";
import { runOf } from "./answer_run.js";
import { streamedMark, streamView } from "./answer_stream.js";
import { answerView } from "./answer_view.js";

/** @typedef {import("../base/view.js").View} View */
/** @typedef {import("./answer_run.js").AnswerRun} AnswerRun */

/** @type {Record<string, string>} titles of what went wrong, by kind of error */
const FAILURES = {
  bad_question: "Invalid question",
  busy: "The server is busy",
  corpus_not_ready: "The corpus is not ready",
  cut_off: "The answer was cut off",
  model_failed: "The model failed",
  too_slow: "Timed out",
  unreachable: "Cannot reach the server",
};

/**
 * One answer: as it comes, whole, or what went wrong.
 * @typedef {object} AnswerPanel
 * @property {HTMLElement} node
 * @property {AnswerRun} run
 * @property {(alone: import("./answer_view.js").Alone | undefined) => void} compare show what only this answer has
 */

/**
 * @param {View} view
 * @param {AnswerRun} run
 * @param {import("../base/hover_card.js").HoverCard} card
 * @param {(run: AnswerRun) => void} changed told when it ends, or is asked again
 * @returns {AnswerPanel}
 */
export function answerPanel(view, run, card, changed) {
  const method = view.overview.methods.find((one) => one.name === run.asked.method);
  const level = run.asked.level === null ? "" : ` C${run.asked.level}`;
  const status = element("p", { class: "status", role: "status" });
  const actions = element("p", { class: "actions" });
  const text = element("div", { class: "text" });
  const beside = element("div", { class: "beside" });
  const node = element(
    "article",
    { class: "answer", "aria-label": `Answer by ${run.asked.method}` },
    element(
      "h3",
      {},
      element("bdi", {}, run.asked.method),
      level,
      method && element("span", { class: "muted" }, ` ${method.text}`),
    ),
    element("div", { class: "bar" }, status, actions),
    element("div", { class: "columns" }, text, beside),
  );
  const stream = streamView();
  const again = button("Ask again", () => changed(runOf(view, run.asked, true)));
  const stop = button("Stop", () => run.stop());
  const seconds = element("span", { class: "ticking" });
  const tick = setInterval(
    () => fill(seconds, `${number(Math.floor((performance.now() - run.begun) / 1000))} s`),
    1000,
  );
  const showAnswer = (/** @type {import("./answer_view.js").Alone | undefined} */ alone) => {
    if (!run.answer) return;
    const drawn = answerView(view, run.answer, card, alone);
    fill(text, drawn.text);
    fill(beside, drawn.sources);
  };
  const show = () => {
    node.dataset.state = run.state;
    node.setAttribute("aria-busy", String(run.state === "running"));
    if (run.state !== "running") node.dataset.answered = run.state;
    if (run.state === "running") {
      if (run.text) stream.show(run.text);
      if (!node.contains(stream.node)) {
        fill(status, "Answering…");
        fill(actions, seconds, stop);
        fill(text, stream.node);
      }
      if (run.text) fill(status, "Answering… Citations are not checked yet.");
      return;
    }
    clearInterval(tick);
    fill(actions, again);
    if (run.state === "answered") {
      fill(status, answered(run, run.version !== view.overview.version));
    } else {
      fill(
        status,
        run.state === "stopped" ? "Stopped. The server may still finish what it started." : "Not answered.",
      );
      fill(text, partial(run), run.error && failureOf(run.error));
    }
    changed(run);
  };
  run.addEventListener("change", show, { signal: view.signal });
  view.signal.addEventListener("abort", () => clearInterval(tick));
  queueMicrotask(show);
  return { node, run, compare: showAnswer };
}

/**
 * @param {AnswerRun} run
 * @param {boolean} older whether the corpus has been published anew since
 */
function answered({ answer, asked }, older) {
  if (!answer) return "";
  const level =
    answer.level === null || answer.method === `C${answer.level}` ? "" : ` at level C${answer.level}`;
  const by = answer.method === asked.method ? "" : ` by ${answer.method}`;
  const begin = answer.refused ? "No answer was found" : "Answered";
  const state = older ? " From an earlier index of this corpus." : "";
  return `${begin}${by}${by || asked.level === null ? level : ""}: ${answerFacts(answer).join(" · ")}.${state}`;
}

/** @param {AnswerRun} run */
function partial(run) {
  if (!run.text) return null;
  const told = element("p", { class: "muted" }, "Partial answer, not checked:");
  return element(
    "div",
    { class: "partial" },
    told,
    element("div", { class: "said" }, ...markdown(run.text, streamedMark)),
  );
}

/** @param {import("../base/source.js").SourceError} error */
function failureOf(error) {
  const wait = error.wait === null ? "" : ` Try again in ${number(error.wait)} s.`;
  return element(
    "div",
    { class: "failure", role: "alert" },
    element("p", {}, element("strong", {}, FAILURES[error.kind] ?? "No answer")),
    element("p", {}, element("bdi", {}, error.message), wait),
  );
}
