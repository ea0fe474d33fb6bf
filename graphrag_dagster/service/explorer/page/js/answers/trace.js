// @ts-check

import { addressOf } from "../base/addresses.js";
import { button, element, link, name } from "../base/dom.js";
import { facts } from "../base/parts.js";
import { corpusPath } from "../base/source.js";
import { counted, number, spoken } from "../base/wording.js";
import { answerAccount, answerFold, answerTable } from "./account.js";

/** @typedef {import("../api.d.ts").AnswerBody} AnswerBody */
/** @typedef {import("../base/view.js").View} View */

/** Fields of an answer that are shown elsewhere, or have a form of their own here. */
const TRACE_TOLD = new Set(
  (
    "question method level text engine refused why heading sources nearest marks statements context scores " +
    "dropped removed_citations problems steps trace usage seconds query scope favoured calls " +
    "partly_supported unsupported general"
  ).split(" "),
);
/** @type {Record<string, string>} pages of the rows of a context */
const TRACE_PAGES = { report: "community", summary: "community", community: "community", entity: "entity" };

/**
 * How an answer came about, to be unfolded: what was understood, looked up, read and asked.
 * @param {View} view
 * @param {AnswerBody} answer
 * @returns {HTMLElement}
 */
export function answerTrace(view, answer) {
  const parts = [
    traceQuestion(answer),
    answer.query && traceQuery(answer.query),
    ...answer.trace.map((one) => traceSection(view, one)),
    traceCalls(answer),
    traceContext(view, answer),
    traceFurther(answer),
  ];
  return answerFold("How this answer was made", parts, "question, steps, what was read");
}

/** @param {AnswerBody} answer */
function traceQuestion(answer) {
  const scope = answer.scope;
  const inside = ([here, all] = [0, 0]) => `${number(here)} of ${number(all)}`;
  /** @param {boolean} only */
  const named = (only) =>
    answer.favoured
      .filter((one) => one.only === only)
      .map((one) => `${one.kind} ${one.words} (${counted(one.documents, "document")})`)
      .join("; ");
  return element(
    "div",
    {},
    facts([
      ["Method", answer.level === null ? answer.method : `${answer.method}, level C${answer.level}`],
      [
        "Restricted to",
        scope &&
          `${inside(scope.documents)} documents, ${inside(scope.text_units)} passages, ${inside(scope.reports)} reports`,
      ],
      ["Restrictions", scope && answerAccount(scope.filters)],
      ["Notes", scope && answerAccount(scope.notes)],
      ["Searched only", named(true)],
      ["Preferred", named(false)],
    ]),
  );
}

/** @param {import("../api.d.ts").Query} query */
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
  const rows = answer.steps.map((one) => [
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
      ? "by rules, without a model"
      : `with ${counted(answer.usage.calls, "model call")}`;
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
  const columns = ["Kind", "Item", "Tokens", ...(chunked ? ["Chunk"] : []), "Used"];
  const scores =
    chunked && facts([["Helpfulness of the chunks (0–100)", answer.scores.map(number).join(", ")]]);
  return (
    rows.length > 0 &&
    answerFold(
      "What was read",
      [scores, answerTable("What was read", columns, rows)],
      counted(rows.length, "item"),
    )
  );
}

/**
 * @param {View} view
 * @param {import("../api.d.ts").ContextUse} row
 */
function traceRow(view, row) {
  if (row.text)
    return element("span", {}, name(row.title), element("p", { class: "muted", dir: "auto" }, row.text));
  return traceLink(view, row.kind, row.record_id, name(row.title));
}

/**
 * What leads to a row of the index, where it has a page.
 * @param {View} view
 * @param {string} kind
 * @param {string} id
 * @param {Node | string} text
 * @returns {Node | string}
 */
function traceLink(view, kind, id, text) {
  const corpus = view.overview.corpus;
  const page = TRACE_PAGES[kind];
  if (page) return link(addressOf(corpus, page, id), text);
  if (kind !== "source") return text;
  const opened = button([text], async () => {
    try {
      const found = await view.source.get(corpusPath(corpus, "sources", id));
      const cited = `${found.start_char}-${found.end_char}`;
      if (!view.signal.aborted) location.hash = addressOf(corpus, "document", found.document_id, { cited });
    } catch (error) {
      opened.after(element("span", { class: "muted" }, ` ${error instanceof Error ? error.message : error}`));
    }
  });
  opened.classList.add("as-link");
  return opened;
}

/**
 * A section of the trace, to be unfolded: facts where it has one row, else a table.
 * @param {View} view
 * @param {import("../api.d.ts").TraceSection} section
 */
function traceSection(view, section) {
  const cells = section.rows.map((row, place) =>
    row.map((value, column) =>
      traceCell(
        view,
        value,
        section.links.filter((one) => one.row === place && one.column === column),
      ),
    ),
  );
  const [only, ...others] = cells;
  return only && !others.length
    ? answerFold(section.title, [
        facts(section.columns.map((one, column) => [spoken(one), only[column] ?? null])),
      ])
    : answerFold(
        section.title,
        [answerTable(section.title, section.columns.map(spoken), cells)],
        counted(cells.length, "row"),
      );
}

/**
 * @param {View} view
 * @param {string | number | boolean | null} value
 * @param {import("../api.d.ts").CellLink[]} links
 * @returns {Node | string | null}
 */
function traceCell(view, value, links) {
  const [first, ...others] = links;
  if (typeof value !== "string") return answerAccount(value);
  if (!value.trim()) return "–";
  if (first && !others.length) return traceLink(view, first.kind, first.record_id, name(value));
  const text = value.includes("\n") ? element("pre", {}, element("code", {}, value)) : name(value, 300);
  const numbered = links.flatMap((one, place) => [
    " ",
    traceLink(view, one.kind, one.record_id, `${place + 1}`),
  ]);
  return links.length ? element("span", {}, text, ...numbered) : text;
}

/** @param {AnswerBody} answer */
function traceFurther(answer) {
  const further = Object.entries(answer).filter(([key]) => !TRACE_TOLD.has(key));
  const told = answerAccount(Object.fromEntries(further));
  return told !== null && answerFold("More details", [told]);
}
