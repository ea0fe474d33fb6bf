// @ts-check
import { addressOf } from "../base/addresses.js";
import { button, cut, element, link, name } from "../base/dom.js";
import { section } from "../base/parts.js";
import { addressOfWords, placeView } from "../base/place.js";
import { counted, number, spoken } from "../base/wording.js";

/** @typedef {import("../api.d.ts").CommunityCitation} Citation */
/** @typedef {import("../api.d.ts").CommunityPage} CommunityPage */

const MARKS_AT_ONCE = 5;

/**
 * A report, each of its statements followed by links to what it cites.
 * @param {CommunityPage} community
 * @param {string} corpus
 * @returns {HTMLElement}
 */
export function reportText(community, corpus) {
  if (!community.statements.length)
    return element("p", { class: "remark" }, "No report has been written for this community.");
  return element(
    "div",
    { class: "report" },
    ...community.statements.flatMap((statement) => [
      statement.heading && element("h3", {}, element("bdi", {}, statement.heading)),
      element(
        "p",
        { class: statement.position < 0 ? "prose summary" : "prose" },
        ...statement.segments.flatMap((segment) => [
          element("bdi", {}, segment.text),
          ...citationMarks(segment.citations, community.citations, corpus),
        ]),
      ),
    ]),
  );
}

/**
 * The numbers of what a segment cites. Of many, the most are shown when they are asked for.
 * @param {number[]} numbers
 * @param {Citation[]} citations
 * @param {string} corpus
 * @returns {(Node | string)[]}
 */
function citationMarks(numbers, citations, corpus) {
  const marks = numbers.flatMap((one) => {
    const citation = citations[one - 1];
    // A line may break between two of them, but not before the first.
    return citation ? [citationMark(citation, corpus), "\u200b"] : [];
  });
  if (numbers.length <= MARKS_AT_ONCE) return marks;
  const others = marks.splice(2 * (MARKS_AT_ONCE - 1));
  const more = button(`+${others.length / 2}`, () => {
    const [first] = others;
    more.replaceWith(...others);
    if (first instanceof HTMLElement) first.focus();
  });
  more.className = "cite";
  more.title = "Show all sources cited here";
  more.setAttribute("aria-label", `Show ${others.length / 2} more citations`);
  return [...marks, more];
}

/**
 * The number of a citation, which opens what is cited.
 * @param {Citation} citation
 * @param {string} corpus
 * @returns {HTMLElement}
 */
function citationMark(citation, corpus) {
  const address = citationAddress(citation, corpus);
  const told = `${citationKind(citation)}: ${cut(citation.title, 120)}`;
  const words = citation.place?.exact ? `\n“${cut(citation.place.words, 300)}”` : "";
  if (!address)
    return element(
      "span",
      { class: "cite invalid", title: `${told}, which was not among what it was written from` },
      `[${citation.number}?]`,
    );
  const mark = link(address, String(citation.number));
  mark.className = "cite";
  mark.title = told + words;
  mark.setAttribute("aria-label", `Citation ${citation.number}, ${told}`);
  return mark;
}

/**
 * Where a citation leads: the very words, or the page of what is cited; empty where it is invalid.
 * @param {Citation} citation
 * @param {string} corpus
 * @returns {string}
 */
function citationAddress(citation, corpus) {
  const { kind, record_id: id, place, valid } = citation;
  if (!valid || !id) return "";
  if (kind === "entity") return addressOf(corpus, "entity", id);
  if (kind === "report") return addressOf(corpus, "community", id);
  if (place) return addressOfWords(place, corpus);
  const filter = citation.title.replaceAll(" – ", " ");
  return kind === "text_unit" ? "" : addressOf(corpus, "tables", `${kind}s`, { filter: cut(filter, 200) });
}

/**
 * @param {Citation} citation
 * @returns {string}
 */
function citationKind(citation) {
  return citation.kind === "text_unit" ? "words of" : spoken(citation.kind);
}

/**
 * All that a report cites, each with its words; unfolded when it is asked for.
 * @param {Citation[]} citations
 * @param {string} corpus
 * @returns {HTMLElement}
 */
export function citationList(citations, corpus) {
  const invalid = citations.filter((one) => !one.valid).length;
  const list = element("ol", { class: "plain citations", id: "citations", hidden: true });
  const open = button(`Show all ${number(citations.length)}`, () => {
    if (!list.hasChildNodes()) list.append(...citations.map((one) => citationEntry(one, corpus)));
    list.hidden = !list.hidden;
    open.textContent = list.hidden ? `Show all ${number(citations.length)}` : "Hide them";
    open.setAttribute("aria-expanded", String(!list.hidden));
  });
  open.setAttribute("aria-expanded", "false");
  open.setAttribute("aria-controls", "citations");
  return section(
    "Sources",
    element(
      "p",
      {},
      `The report cites ${counted(citations.length, "source")}`,
      invalid > 0 ? `; ${number(invalid)} of them were not among what it was written from. ` : ". ",
      open,
    ),
    list,
  );
}

/**
 * @param {Citation} citation
 * @param {string} corpus
 * @returns {HTMLElement}
 */
function citationEntry(citation, corpus) {
  const address = citationAddress(citation, corpus);
  const title = name(citation.title);
  return element(
    "li",
    {},
    element("span", { class: "cite-number" }, String(citation.number)),
    element(
      "div",
      {},
      element(
        "p",
        {},
        element("span", { class: "kind" }, `${citationKind(citation)} `),
        address ? link(address, title) : title,
        !citation.valid && element("span", { class: "problem" }, " (not in its context)"),
      ),
      citation.place && placeView(citation.place, corpus),
    ),
  );
}
