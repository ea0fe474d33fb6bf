// @ts-check
import { exampleQuestions } from "../ask/ask_examples.js";
import { addressOf } from "../base/addresses.js";
import { button, element, fill, link, name } from "../base/dom.js";
import { message } from "../base/messages.js";
import { facts, foldedText } from "../base/parts.js";
import { corpusPath, SourceError } from "../base/source.js";
import { counted, day, number } from "../base/wording.js";

/** @typedef {import("../api.d.ts").CorpusEntry} CorpusEntry */
/** @typedef {import("../api.d.ts").CorpusList} CorpusList */
/** @typedef {import("../api.d.ts").Overview} Overview */

const QUESTIONS_TO_TRY = 3;
const LONGEST_DESCRIPTION = 240;
/** Names that a shell takes as they are. */
const PLAIN_NAME = /^[\w.-]+$/;

/**
 * Show a card for each corpus, or how to make the first one.
 * @param {HTMLElement} main
 * @param {import("../base/source.js").Source} source
 * @param {CorpusList} listing
 * @param {() => void} again look for corpora again
 */
export async function showCorpora(main, source, { corpora, unindexed }, again) {
  main.className = "page-corpora";
  const all = [...corpora, ...unindexed.map((one) => ({ name: one, version: null }))];
  if (!all.length) return fill(main, noCorpora(again));
  const cards = all.map((one) => ({ one, body: element("div", { class: "corpus-body" }) }));
  const listed = cards.map(({ one, body }) =>
    element(
      "li",
      { class: "corpus-card" },
      element("h2", {}, one.version ? link(addressOf(one.name), name(one.name)) : name(one.name)),
      body,
    ),
  );
  fill(main, element("h1", {}, "Corpora"), element("ul", { class: "corpora" }, ...listed));
  // One that cannot be read leaves the others as they are.
  await Promise.all(cards.map(({ one, body }) => fillCard(source, one, body)));
}

/**
 * @param {import("../base/source.js").Source} source
 * @param {CorpusEntry} one
 * @param {HTMLElement} body
 */
async function fillCard(source, one, body) {
  if (!one.version) return fill(body, ...notIndexed(one.name));
  fill(body, element("p", { class: "muted" }, "Loading…"));
  try {
    fill(body, ...indexed(await source.get(corpusPath(one.name, "overview"))));
  } catch (error) {
    if (error instanceof SourceError && error.kind === "unauthorized") throw error;
    if (error instanceof SourceError && error.kind === "corpus_not_ready")
      return fill(body, ...notIndexed(one.name));
    const text = error instanceof Error ? error.message : String(error);
    const retry = button("Try again", () => fillCard(source, one, body));
    fill(body, element("p", { class: "problem" }, element("bdi", {}, text)), element("p", {}, retry));
  }
}

/**
 * @param {string} corpus
 * @returns {HTMLElement[]}
 */
function notIndexed(corpus) {
  // A name may have blanks, but no quotes.
  const quoted = PLAIN_NAME.test(corpus) ? corpus : `'${corpus}'`;
  return [
    element("p", {}, "Not indexed yet. To index it, run:"),
    command(`graphrag-dagster index ${quoted}`),
  ];
}

/**
 * @param {Overview} overview
 * @returns {(HTMLElement | null)[]}
 */
function indexed(overview) {
  const { corpus, counts, description, published } = overview;
  return [
    description ? element("p", { class: "about" }, foldedText(description, LONGEST_DESCRIPTION)) : null,
    facts([
      ["Documents", number(counts.documents)],
      ["Entities", number(counts.entities)],
      ["Communities", number(counts.communities)],
      ["Last indexed", published && day(published)],
      ["Engine", engineOf(overview)],
      ["Not read", !counts.files_not_read && "nothing"],
    ]),
    notRead(overview),
    toTry(overview),
    element(
      "p",
      { class: "ways" },
      link(addressOf(corpus), "Map"),
      link(addressOf(corpus, "ask"), "Ask"),
      link(addressOf(corpus, "tables"), "Browse"),
    ),
  ];
}

/**
 * Which models made the index and answer questions.
 * @param {Overview} overview
 * @returns {string | HTMLElement[]}
 */
function engineOf({ index_model, answer_model, methods }) {
  const told = (/** @type {string | null} */ model) => (model ? name(model) : "without a model");
  if (index_model === answer_model || !methods.length) return [element("span", {}, told(index_model))];
  return [
    element("span", {}, "index: ", told(index_model), "; "),
    element("span", {}, "answers: ", told(answer_model)),
  ];
}

/**
 * The files that were not read, or only in part, with the reasons, to be unfolded.
 * @param {Overview} overview
 * @returns {HTMLElement | null}
 */
function notRead({ corpus, counts, unread }) {
  const { files_not_read: none, files_read_in_part: some } = counts;
  if (!none && !some) return null;
  const told = [
    none && `Not read: ${counted(none, "file")}`,
    some && `Read in part: ${counted(some, "file")}`,
  ];
  const left = none + some - unread.length;
  const all = link(addressOf(corpus, "tables", "files"), left > 0 ? `and ${number(left)} more` : "All files");
  return element(
    "details",
    { class: "not-read" },
    element("summary", {}, told.filter(Boolean).join(" · ")),
    element(
      "ul",
      {},
      ...unread.map((file) =>
        element(
          "li",
          {},
          element("bdi", { class: "path" }, file.path),
          element("span", { class: "muted" }, file.in_part ? " read in part" : ""),
          file.reason && element("span", { class: "muted" }, ": ", element("bdi", {}, file.reason)),
        ),
      ),
    ),
    element("p", {}, all),
  );
}

/**
 * @param {Overview} overview
 * @returns {HTMLElement | null}
 */
function toTry(overview) {
  const listed = exampleQuestions(overview, QUESTIONS_TO_TRY);
  if (listed) return element("div", { class: "to-try" }, element("h3", {}, "Questions to try"), listed);
  const [note] = overview.methods.length ? [] : overview.notes;
  return note ? element("p", { class: "problem" }, element("bdi", {}, note)) : null;
}

/**
 * @param {() => void} again
 * @returns {HTMLElement}
 */
function noCorpora(again) {
  const shown = message("There are no corpora yet", "To try it with a sample of documents, run:");
  shown.append(
    command("graphrag-dagster demo"),
    element("p", {}, "To index a folder of your own documents, run:"),
    command("graphrag-dagster index FOLDER"),
    element("p", { class: "ways" }, button("Look again", again, { class: "primary" })),
  );
  return shown;
}

/**
 * @param {string} text to be typed into a terminal
 * @returns {HTMLElement}
 */
function command(text) {
  return element("pre", { class: "command" }, element("code", {}, text));
}
