// @ts-check
import { addressOf } from "../base/addresses.js";
import { called, madeBy } from "../base/columns.js";
import { element, link, name } from "../base/dom.js";
import { addressOfWords, beginningOf, placeView } from "../base/place.js";
import { number, spoken } from "../base/wording.js";

/** @typedef {import("../api.d.ts").LineageStep} Step */

const OPEN_LEVELS = 1;
const LONGEST_TEXT = 600;

/** @type {Record<string, string>} what a step is called, where its kind does not say it */
const KINDS = {
  text_unit: "read in",
  instance: "found in",
  names: "merged names",
  decision: "decision on two names",
  context: "context",
  row: "row of an imported graph",
  triple: "statement of the graph",
};

/** Columns of a step that are told, in this order. */
const STEP_FACTS = [
  "type",
  "status",
  "level",
  "rating",
  "degree",
  "weight",
  "frequency",
  "instances",
  "tokens",
  "entities",
  "relationships",
  "claims",
  "reports",
  "similarity",
  "verdict",
  "by",
  "who",
  "score",
  "start_date",
  "end_date",
];

/**
 * The way from a row down to the words it rests on, to be unfolded.
 * @param {Step} step
 * @param {string} corpus
 * @returns {HTMLElement}
 */
export function stepTree(step, corpus) {
  return element("div", { class: "steps" }, stepView(step, corpus, 0));
}

/**
 * @param {Step} step
 * @param {string} corpus
 * @param {number} depth
 * @returns {HTMLElement}
 */
function stepView(step, corpus, depth) {
  const inside = stepInside(step, corpus, depth);
  if (!inside.length) return element("div", { class: "step leaf" }, stepHead(step, corpus, true));
  const opened = depth < OPEN_LEVELS || step.kind === "text_unit";
  return element(
    "details",
    { class: "step", open: opened },
    element("summary", {}, stepHead(step, corpus, false)),
    element("div", { class: "step-inside" }, inside),
  );
}

/**
 * @param {Step} step
 * @param {string} corpus
 * @param {boolean} linked a link inside of what unfolds would be in its way
 * @returns {HTMLElement}
 */
function stepHead(step, corpus, linked) {
  const address = linked ? stepAddress(step, corpus) : "";
  const [unit] = step.steps;
  // All that was found of one thing is called alike: what tells it apart is where it was found.
  const found = step.kind === "instance" && unit?.kind === "text_unit" ? unit.title : step.title;
  const kind = KINDS[step.kind] ?? spoken(step.kind);
  const title = name(found || spoken(step.kind));
  return element(
    "span",
    { class: "step-head" },
    kind !== found && element("span", { class: "kind" }, kind),
    " ",
    address ? link(address, title) : title,
    linked && stepFacts(step),
  );
}

/**
 * @param {Step} step
 * @param {string} corpus
 * @param {number} depth
 * @returns {HTMLElement[]}
 */
function stepInside(step, corpus, depth) {
  const address = stepAddress(step, corpus);
  const below = step.steps.map((one) => stepView(one, corpus, depth + 1));
  const evidence = step.evidence.map((one) => evidenceView(one, corpus));
  // Words that lead to the document make a further link to it needless.
  const opens = address && !evidence.length;
  if (!step.text && !below.length && !evidence.length && !step.left_out) return [];
  return [
    ...(opens && depth ? [element("p", { class: "opens" }, link(address, stepOpens(step)))] : []),
    ...[stepFacts(step)].filter((one) => one !== null),
    ...(step.text && depth ? [element("p", { class: "said" }, beginningOf(step.text, LONGEST_TEXT))] : []),
    ...evidence,
    ...below,
    ...(step.left_out ? [element("p", { class: "muted" }, `and ${number(step.left_out)} more`)] : []),
  ];
}

/**
 * Where a row has a page of its own; empty where it has none.
 * @param {Step} step
 * @param {string} corpus
 * @returns {string}
 */
function stepAddress(step, corpus) {
  const { kind, id, facts } = step;
  if (!id || facts.valid === false) return "";
  if (kind === "entity") return addressOf(corpus, "entity", id);
  if (kind === "context node" && !facts.outcome) return addressOf(corpus, "entity", id);
  if (kind === "report" || kind === "community") return addressOf(corpus, "community", id);
  if (kind !== "text_unit" || typeof facts.document_id !== "string") return "";
  const { document_id, start_char, end_char } = facts;
  if (typeof start_char !== "number" || typeof end_char !== "number")
    return addressOf(corpus, "document", document_id);
  return addressOfWords({ document_id, start_char, end_char }, corpus);
}

/**
 * @param {Step} step
 * @returns {string}
 */
function stepOpens(step) {
  if (step.kind === "text_unit") return "Open the document at this passage";
  return step.kind === "entity" || step.kind === "context node" ? "Open the entity" : "Open the report";
}

/**
 * @param {Step} step
 * @returns {HTMLElement | null}
 */
function stepFacts(step) {
  const told = STEP_FACTS.flatMap((key) => {
    const value = step.facts[key];
    if (key === "level" && typeof value === "number") return [`level C${value}`];
    if (typeof value === "number") return [`${called(key)} ${number(value)}`];
    return typeof value === "string" && value ? [`${called(key)} ${spoken(value)}`] : [];
  });
  const { engine, description_engine: describer } = step.facts;
  if (typeof engine === "string") told.push(`made ${madeBy(engine)}`);
  if (typeof describer === "string") told.push(`description made ${madeBy(describer)}`);
  if (step.facts.valid === false) told.push("was not among what it was written from");
  return told.length ? element("span", { class: "facts muted" }, told.join(" · ")) : null;
}

/**
 * What a row rests on at last: words of a document, or what stands in their place.
 * @param {Step["evidence"][number]} found
 * @param {string} corpus
 * @returns {HTMLElement}
 */
export function evidenceView(found, corpus) {
  if (found.kind === "words") return placeView(found, corpus);
  if (found.kind === "written")
    return element(
      "p",
      { class: "said" },
      element("bdi", {}, found.text),
      element(
        "span",
        { class: "muted" },
        " (written by the model from its own knowledge, not from documents)",
      ),
    );
  if (found.kind === "row")
    return element(
      "p",
      { class: "said" },
      name(found.title),
      ": ",
      element(
        "bdi",
        {},
        Object.entries(found.values)
          .map(([key, value]) => `${key} ${value ?? "–"}`)
          .join(", "),
      ),
      element("span", { class: "muted" }, ` (${found.table}, row ${found.key})`),
    );
  return element(
    "p",
    { class: "said" },
    link(addressOf(corpus, "entity", found.subject_id), name(found.subject)),
    " – ",
    link(addressOf(corpus, "entity", found.object_id), name(found.object)),
    ": ",
    element("bdi", {}, found.predicate),
    " ",
    link(addressOf(corpus, "document", found.document_id), name(found.document_title)),
    element("span", { class: "muted" }, " (extracted; no passage was found that names both)"),
  );
}
