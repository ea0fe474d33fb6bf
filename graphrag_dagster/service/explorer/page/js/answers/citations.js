// @ts-check
import { addressOf } from "../base/addresses.js";
import { element, link, name } from "../base/dom.js";
import { facts } from "../base/parts.js";
import { addressOfWords } from "../base/place.js";
import { number, spoken } from "../base/wording.js";
import { evidenceView } from "./steps.js";
import { whyFold } from "./why_fold.js";

/** @typedef {import("../api.d.ts").Source} CitedSource */
/** @typedef {import("../base/view.js").View} View */

/** @type {Record<string, string>} what a source is, for people */
const SOURCE_KINDS = {
  report: "report",
  entity: "entity",
  relationship: "relationship",
  claim: "claim",
  source: "passage",
  summary: "summary of a community",
  triple: "triple",
  row: "row",
  own_context: "context written by the model",
};
/** @type {Record<string, string>} */
const SOURCE_PAGES = { report: "community", summary: "community", entity: "entity" };
/** @type {Record<string, string>} of what a row of a table is */
const SOURCE_TABLES = {
  "graph.entities": "entity",
  "graph.relationships": "relationship",
  "graph.claims": "claim",
  "reports.community_reports": "report",
};
/** @type {Record<string, string>} pages of the rows of tables */
const TABLE_PAGES = {
  "graph.entities": "entity",
  "reports.community_reports": "community",
  "graph.communities": "community",
  "corpus.documents": "document",
};
const SOURCE_WHY = new Set(["report", "entity", "relationship", "claim", "triple", "summary"]);

/**
 * The mark of a source in a text: a link to its words, or to its entry in the list where it has none.
 * @param {View} view
 * @param {CitedSource} source
 * @param {HTMLElement} entry of the list of sources
 * @param {import("../base/hover_card.js").HoverCard} card
 * @returns {HTMLElement}
 */
export function citeMark(view, source, entry, card) {
  const corpus = view.overview.corpus;
  const address = source.evidence?.kind === "words" ? addressOfWords(source.evidence, corpus) : null;
  const label = `[${source.number}]`;
  const made = address ? link(address, label) : element("button", { type: "button" }, label);
  made.classList.add("cite");
  made.setAttribute("aria-label", `${label} ${sourceTitle(source)}`);
  if (!address) {
    made.addEventListener("click", () => {
      entry.closest("details")?.toggleAttribute("open", true);
      entry.scrollIntoView({ block: "center" });
      entry.focus({ preventScroll: true });
    });
  }
  card.attach(made, () => {
    const shown = sourceEvidence(corpus, source);
    return shown ? [shown] : [element("p", {}, `${sourceKind(source)} `, name(source.title))];
  });
  return made;
}

/**
 * The entry of a source in the list beside an answer.
 * @param {View} view
 * @param {CitedSource} source
 * @param {boolean} alone no other answer cites it
 * @returns {HTMLElement}
 */
export function sourceEntry(view, source, alone) {
  const corpus = view.overview.corpus;
  const near = source.similarity !== null && source.similarity < 1;
  const similarity = `Similarity to the sentence that cites it: ${number(source.similarity ?? 0)} of 1.`;
  const unknown = () => element("p", { class: "remark" }, "No supporting passage is known.");
  const why = sourceWhy(source);
  return element(
    "li",
    { class: alone ? "source alone" : "source", tabindex: -1 },
    element("span", { class: "cite-number" }, `[${source.number}]`),
    element(
      "div",
      {},
      alone && element("p", { class: "tag" }, "only here"),
      sourceRow(corpus, source),
      sourceEvidence(corpus, source) ?? unknown(),
      near && element("p", { class: "remark" }, similarity),
      why && whyFold(view, why.kind, why.id, sourceWay(source), source.finding),
    ),
  );
}

/**
 * What an answer cites, where that is more than the words themselves.
 * @param {string} corpus
 * @param {CitedSource} source
 * @returns {HTMLElement | false}
 */
function sourceRow(corpus, source) {
  if (["source", "row"].includes(source.kind) && source.evidence) return false;
  const page = SOURCE_PAGES[source.kind];
  const title = name(source.title);
  const shown = page ? link(addressOf(corpus, page, source.record_id), title) : title;
  return element("p", { class: "row-cited" }, `${sourceKind(source)} `, shown, sourceFinding(source));
}

/**
 * The words in their sentence, or the triple, row or text that a source is.
 * @param {string} corpus
 * @param {CitedSource} source
 * @returns {HTMLElement | null}
 */
function sourceEvidence(corpus, { evidence }) {
  if (evidence?.kind !== "row") return evidence && evidenceView(evidence, corpus);
  const values = Object.entries(evidence.values).map(([column, value]) => {
    const told = typeof value === "number" ? number(value) : name(value === null ? "–" : String(value), 300);
    return /** @type {[string, string | Node]} */ ([column.replaceAll("_", " "), told]);
  });
  const page = TABLE_PAGES[evidence.table];
  const title = name(evidence.title || evidence.key);
  const from =
    evidence.table === "query"
      ? "of the query"
      : `of the table ${spoken(evidence.table.split(".").at(-1) ?? "")}`;
  return element(
    "div",
    { class: "row-evidence" },
    element(
      "p",
      {},
      page ? link(addressOf(corpus, page, evidence.key), title) : title,
      element("span", { class: "muted" }, ` row ${from}`),
    ),
    facts(values),
  );
}

/** @param {CitedSource} source */
function sourceKind(source) {
  return SOURCE_KINDS[source.kind] ?? source.kind;
}

/** @param {CitedSource} source */
function sourceFinding(source) {
  if (source.finding === null) return "";
  return source.finding < 0 ? ", its summary" : `, finding ${source.finding + 1}`;
}

/** @param {CitedSource} source */
function sourceTitle(source) {
  const { evidence } = source;
  if (evidence?.kind !== "words") return `${sourceKind(source)} ${source.title}`.slice(0, 200);
  return `${evidence.document_title}: ${evidence.quotation}`.slice(0, 200);
}

/**
 * The row that tells why a source is there.
 * @param {CitedSource} source
 * @returns {{kind: string, id: string} | null}
 */
function sourceWhy(source) {
  if (SOURCE_WHY.has(source.kind)) return { kind: source.kind, id: source.record_id };
  const kind = source.evidence?.kind === "row" ? SOURCE_TABLES[source.evidence.table] : undefined;
  return kind && source.evidence?.kind === "row" ? { kind, id: source.evidence.key } : null;
}

/**
 * The way from the row that is cited to the words, in a line.
 * @param {CitedSource} source
 * @returns {string}
 */
function sourceWay(source) {
  const steps = [sourceKind(source)];
  if (source.finding !== null)
    steps.push(source.finding < 0 ? "its summary" : `finding ${source.finding + 1}`);
  if (source.via_kind && source.via_id !== source.record_id) steps.push(source.via_kind);
  if (source.evidence?.kind === "words") steps.push("words");
  return steps.join(" → ");
}
