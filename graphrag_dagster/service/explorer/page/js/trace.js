// @ts-check

import { answerAccount, answerFold, answerTable } from "./account.js";
import { addressOf } from "./addresses.js";
import { button, element, link, name } from "./dom.js";
import { facts } from "./parts.js";
import { corpusPath } from "./source.js";
import { graphTrace, pathsTrace } from "./trace_ways.js";
import { counted, number, spoken } from "./wording.js";

/** @typedef {import("./api.d.ts").AnswerBody} AnswerBody */
/** @typedef {import("./view.js").View} View */

/** Fields of an answer that are shown elsewhere, or have a form of their own here. */
const TRACE_TOLD = new Set([
  ...["question", "method", "level", "text", "engine", "refused", "why", "heading", "linked", "sources"],
  ...[
    "statements",
    "context",
    "scores",
    "dropped",
    "removed_citations",
    "problems",
    "trace",
    "usage",
    "seconds",
  ],
  ...["query", "scope", "favoured", "reranked", "coterag", "graph", "paths", "calls"],
  ...["partly_supported", "unsupported", "general"],
]);
/** @type {Record<string, string>} pages of the rows of a context */
const TRACE_PAGES = { report: "community", summary: "community", entity: "entity" };

/**
 * How an answer came about, to be unfolded: what was understood, looked up, read and asked.
 * @param {View} view
 * @param {AnswerBody} answer
 * @returns {HTMLElement}
 */
export function answerTrace(view, answer) {
  const corpus = view.overview.corpus;
  const parts = [
    traceQuestion(corpus, answer),
    answer.query && traceQuery(answer.query),
    answer.graph &&
      answerFold("Route through the graph", graphTrace(corpus, answer.graph), answer.graph.route),
    answer.paths &&
      answerFold("Paths", pathsTrace(corpus, answer.paths), counted(answer.paths.paths.length, "path")),
    answer.coterag && answerFold("CoTeRAG", [answerAccount(answer.coterag, traceTitles(answer.coterag))]),
    traceCalls(answer),
    traceContext(view, answer),
    ...traceReranked(answer),
    traceFurther(answer),
  ];
  return answerFold("How it came about", parts, "question, steps, rows that were read");
}

/**
 * @param {string} corpus
 * @param {AnswerBody} answer
 */
function traceQuestion(corpus, answer) {
  const scope = answer.scope;
  const inside = ([here, all] = [0, 0]) => `${number(here)} of ${number(all)}`;
  const names = answer.linked.map((one) => [
    name(one.text),
    one.title === null
      ? "–"
      : one.entity_id
        ? link(addressOf(corpus, "entity", one.entity_id), name(one.title))
        : name(one.title),
    one.reason ? `${one.how}; ${one.reason}` : one.how,
    number(one.sure),
    number(one.weight),
  ]);
  const favoured = answer.favoured.map(
    (one) => `${one.kind} ${one.words} (${counted(one.documents, "document")})`,
  );
  return element(
    "div",
    {},
    facts([
      ["Way", answer.level === null ? answer.method : `${answer.method}, level C${answer.level}`],
      [
        "Restricted to",
        scope &&
          `${inside(scope.documents)} documents, ${inside(scope.text_units)} passages, ${inside(scope.reports)} reports`,
      ],
      ["Restrictions", scope && answerAccount(scope.filters)],
      ["Notes", scope && answerAccount(scope.notes)],
      ["Favoured", favoured.join("; ")],
    ]),
    names.length > 0 &&
      answerTable(
        "Names in the question",
        ["In the question", "Taken for", "How", "Sure (0–1)", "Weight (0–1)"],
        names,
      ),
  );
}

/** @param {import("./api.d.ts").Query} query */
function traceQuery(query) {
  const made = query.template ? `the template ${query.template}` : "a model";
  const values = Object.keys(query.parameters).length ? JSON.stringify(query.parameters) : "";
  return answerFold(
    "Query over the tables",
    [
      facts([
        ["Read as", query.reading],
        ["Made by", made],
        ["Values", values],
      ]),
      element("pre", { tabindex: 0 }, element("code", {}, query.sql)),
    ],
    `by ${made}`,
  );
}

/** @param {AnswerBody} answer */
function traceCalls(answer) {
  const rows = answer.trace.map((one) => [
    spoken(one.task),
    name(one.about),
    number(one.tokens),
    one.score === null ? "–" : number(one.score),
    one.used ? "yes" : "no",
    one.problem ?? "",
  ]);
  const columns = ["Task", "About", "Tokens", "Score", "Used", "Problem"];
  const by =
    answer.engine === "extractive"
      ? "by rules, no model"
      : `with ${counted(answer.usage.calls, "call")} of a model`;
  return (
    rows.length > 0 &&
    answerFold("Steps", [answerTable("Steps", columns, rows)], `${counted(rows.length, "step")}, ${by}`)
  );
}

/**
 * @param {View} view
 * @param {AnswerBody} answer
 */
function traceContext(view, answer) {
  const chunked = answer.scores.length > 1;
  const rows = [...answer.context]
    .sort((one, other) => Number(other.used) - Number(one.used))
    .map((one) => [
      spoken(one.kind === "source" ? "passage" : one.kind),
      traceRow(view, one),
      number(one.tokens),
      ...(chunked ? [number(one.chunk + 1)] : []),
      one.used ? "yes" : "no",
    ]);
  const columns = ["Kind", "Row", "Tokens", ...(chunked ? ["Chunk"] : []), "Used"];
  const scores =
    chunked && facts([["Helpfulness of the chunks (0–100)", answer.scores.map(number).join(", ")]]);
  return (
    rows.length > 0 &&
    answerFold(
      "Rows that were read",
      [scores, answerTable("Rows that were read", columns, rows)],
      counted(rows.length, "row"),
    )
  );
}

/**
 * @param {View} view
 * @param {import("./api.d.ts").ContextUse} row
 */
function traceRow(view, row) {
  const corpus = view.overview.corpus;
  const page = TRACE_PAGES[row.kind];
  if (page) return link(addressOf(corpus, page, row.record_id), name(row.title));
  if (row.text)
    return element("span", {}, name(row.title), element("p", { class: "muted", dir: "auto" }, row.text));
  if (row.kind !== "source") return name(row.title);
  const opened = button([name(row.title)], async () => {
    try {
      const found = await view.source.get(corpusPath(corpus, "sources", row.record_id));
      const cited = `${found.start_char}-${found.end_char}`;
      if (!view.signal.aborted) location.hash = addressOf(corpus, "document", found.document_id, { cited });
    } catch (error) {
      opened.after(element("span", { class: "muted" }, ` ${error instanceof Error ? error.message : error}`));
    }
  });
  opened.classList.add("as-link");
  return opened;
}

/** @param {AnswerBody} answer */
function traceReranked(answer) {
  const titles = new Map(answer.context.map((one) => [one.record_id, one.title]));
  return answer.reranked.map((one) => {
    const rows = one.moved
      .filter((moved) => titles.has(moved.text_unit_id))
      .map((moved) => [name(titles.get(moved.text_unit_id)), number(moved.before), number(moved.after)]);
    const columns = ["Passage that was read", "Rank before", "Rank after"];
    const count = `by ${one.reranker}: ${number(one.moved.length)} of ${counted(one.units, "passage")} moved`;
    return answerFold(
      "Put into another order",
      [facts([["For", one.question]]), answerTable("Moved", columns, rows)],
      count,
    );
  });
}

/** @param {AnswerBody} answer */
function traceFurther(answer) {
  const further = Object.entries(answer).filter(([key]) => !TRACE_TOLD.has(key));
  return further.length > 0 && answerFold("Further", [answerAccount(Object.fromEntries(further))]);
}

/** @param {Record<string, any>} traced */
function traceTitles(traced) {
  return /** @type {import("./account.js").Titles} */ (traced.titles ?? {});
}
