// @ts-check
import { corpusPath, SourceError } from "../base/source.js";

/** @typedef {import("../api.d.ts").AnswerBody} AnswerBody */
/** @typedef {{question: string, method: string, level: number | null}} Asked what is asked, and how */
/** @typedef {"running" | "answered" | "stopped" | "cut" | "failed"} RunState `cut`: it broke off in the middle */

const MOST_RUNS = 60;
/** @type {Map<string, AnswerRun>} questions of this session, the one asked last behind */
const askedHere = new Map();

/** A question under way or answered. It goes on while other pages are shown; `change` tells of news. */
export class AnswerRun extends EventTarget {
  /**
   * @param {import("../base/view.js").View} view
   * @param {Asked} asked
   */
  constructor(view, asked) {
    super();
    this.asked = asked;
    this.version = view.overview.version;
    this.text = "";
    this.begun = performance.now();
    this.stopping = new AbortController();
    /** @type {RunState} */
    this.state = "running";
    /** @type {AnswerBody | null} */
    this.answer = null;
    /** @type {SourceError | null} */
    this.error = null;
    this.follow(view.source, corpusPath(view.overview.corpus, "ask"));
  }

  /** Hear no more of it; the server may still end what it does. */
  stop() {
    if (this.state === "running") this.end("stopped");
    this.stopping.abort();
  }

  /**
   * @param {import("../base/source.js").Source} source
   * @param {string} path
   */
  async follow(source, path) {
    const { question, method, level } = this.asked;
    const body = { question, method, level: level === null ? null : `C${level}`, stream: true };
    try {
      for await (const heard of source.stream(path, body, this.stopping.signal)) this.hear(heard);
      if (this.state === "running")
        this.fail(new SourceError("cut_off", "The connection closed before the answer was complete."));
    } catch (error) {
      if (this.state === "running") this.fail(error);
    }
  }

  /** @param {{event: string, data: any}} heard */
  hear({ event, data }) {
    if (this.state !== "running") return;
    if (event === "error") throw new SourceError(data.error.type, data.error.message);
    if (event === "delta") this.text += data.text;
    if (event === "answer") {
      this.answer = data;
      this.end("answered");
    } else this.dispatchEvent(new Event("change"));
  }

  /** @param {unknown} error */
  fail(error) {
    if (!(error instanceof SourceError)) console.error(error);
    this.error =
      error instanceof SourceError ? error : new SourceError("page", "The page could not read the answer.");
    this.end(this.error.kind === "cut_off" ? "cut" : "failed");
  }

  /** @param {RunState} state */
  end(state) {
    this.state = state;
    this.dispatchEvent(new Event("change"));
  }
}

/**
 * The run of a question: the one of before, if it came to anything, else a new one.
 * @param {import("../base/view.js").View} view
 * @param {Asked} asked
 * @param {boolean} [again] ask even so
 * @returns {AnswerRun}
 */
export function runOf(view, asked, again = false) {
  const key = JSON.stringify([view.overview.corpus, asked.question, asked.method, asked.level]);
  const before = askedHere.get(key);
  askedHere.delete(key);
  const run = before && !again && before.state !== "failed" ? before : new AnswerRun(view, asked);
  if (before !== run) before?.stop();
  askedHere.set(key, run);
  for (const [oldest, one] of askedHere) {
    if (askedHere.size <= MOST_RUNS) break;
    one.stop();
    askedHere.delete(oldest);
  }
  return run;
}

/**
 * Stop what is under way, but for some.
 * @param {AnswerRun[]} runs
 */
export function stopOthers(runs) {
  for (const one of askedHere.values()) if (!runs.includes(one)) one.stop();
}
