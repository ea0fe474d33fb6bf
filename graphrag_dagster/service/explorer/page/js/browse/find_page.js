// @ts-check
import { addressOf, addressWith, numberIn } from "../base/addresses.js";
import { cut, element, fill, link } from "../base/dom.js";
import { loading } from "../base/messages.js";
import { section } from "../base/parts.js";
import { placeView } from "../base/place.js";
import { corpusPath } from "../base/source.js";
import { titled } from "../base/view.js";
import { counted, number, spoken } from "../base/wording.js";
import { markerOf } from "./marked_words.js";

/** @typedef {import("../base/view.js").View} View */
/** @typedef {import("../api.d.ts").Found} Found */
/** @typedef {(text: string) => (Node | string)[]} Marker */

const FOUND_USUAL = 20;
const FOUND_MOST = 100;
const HOW =
  "Finds names, reports, documents and passages that contain all of the words, in any order. Parts of words match; case and accents are ignored.";
const HELD = `${HOW} Only this file is searched.`;

/**
 * Show what has the words of a query.
 * @param {View} view
 */
export async function showFound(view) {
  const { place, source, main, signal } = view;
  const query = (place.query.get("query") ?? "").trim();
  titled(query ? `Search: ${cut(query, 80)}` : "Search", view);
  const head = element(
    "h1",
    {},
    query ? "Search for “" : "Search",
    query && element("bdi", {}, cut(query, 200)),
    query && "”",
  );
  const how = element("p", { class: "remark" }, source.live ? HOW : HELD);
  const results = element("div", { class: "found" }, query && loading("what is found"));
  const told = element("p", { role: "status", class: "lead" });
  fill(main, head, how, told, results);
  if (!query) {
    fill(results, element("p", {}, "Type words into the search field above and press Enter."));
    return;
  }
  const limit = Math.min(FOUND_MOST, numberIn(place, "limit", FOUND_USUAL) || FOUND_USUAL);
  /** @type {Found} */
  const found = await source.get(corpusPath(place.corpus, "find"), { query, limit });
  if (signal.aborted) return;
  fill(results, ...foundParts(view, found, limit));
  fill(told, foundTold(found));
}

/**
 * @param {Found} found
 * @returns {string}
 */
function foundTold(found) {
  const told = [
    found.entities_total && counted(found.entities_total, "entity", "entities"),
    found.reports_total && counted(found.reports_total, "report"),
    found.documents_total && counted(found.documents_total, "document"),
    found.passages_total && counted(found.passages_total, "passage"),
  ].filter(Boolean);
  return told.length ? `Found: ${told.join(", ")}.` : "Nothing was found.";
}

/**
 * @param {View} view
 * @param {Found} found
 * @param {number} limit
 * @returns {Node[]}
 */
function foundParts(view, found, limit) {
  const { corpus } = view.place;
  const mark = markerOf(found.query);
  const all = found.entities_total + found.reports_total + found.documents_total + found.passages_total;
  if (!all) return [nothingHasThem(view)];
  const parts = [
    foundSection(
      "Entities",
      found.entities_total,
      found.entities.map((one) => entityFound(one, corpus, mark)),
    ),
    foundSection(
      "Reports",
      found.reports_total,
      found.reports.map((one) => reportFound(one, corpus, mark)),
    ),
    foundSection(
      "Documents",
      found.documents_total,
      found.documents.map((one) => documentFound(one, corpus, mark)),
    ),
    foundSection(
      "Passages",
      found.passages_total,
      found.passages.map((one) => placeView(one, corpus, mark)),
    ),
  ].filter((one) => one !== null);
  const totals = [found.entities_total, found.reports_total, found.documents_total, found.passages_total];
  const cutOff = totals.some((one) => one > limit);
  if (cutOff && limit < FOUND_MOST)
    parts.push(
      element(
        "p",
        {},
        link(addressWith(view.place, { limit: FOUND_MOST }), `Show up to ${FOUND_MOST} of each`),
      ),
    );
  else if (cutOff)
    parts.push(
      element("p", { class: "remark" }, "There is more than is shown: add a word to narrow it down."),
    );
  return parts;
}

/**
 * @param {string} title
 * @param {number} total
 * @param {HTMLElement[]} rows
 * @returns {HTMLElement | null}
 */
function foundSection(title, total, rows) {
  if (!total) return null;
  const told =
    total > rows.length
      ? `${title}: ${number(rows.length)} of ${number(total)}`
      : `${title}: ${number(total)}`;
  return section(told, element("ul", { class: "plain" }, ...rows.map((row) => element("li", {}, row))));
}

/**
 * @param {Found["entities"][number]} one
 * @param {string} corpus
 * @param {Marker} mark
 * @returns {HTMLElement}
 */
function entityFound(one, corpus, mark) {
  return element(
    "div",
    {},
    link(addressOf(corpus, "entity", one.entity_id), element("bdi", {}, ...mark(cut(one.title, 120)))),
    one.name !== one.title &&
      element("span", {}, ", also called ", element("bdi", {}, ...mark(cut(one.name, 120)))),
    element("span", { class: "muted" }, ` ${spoken(one.type)} · ${counted(one.degree, "neighbour")}`),
  );
}

/**
 * @param {Found["reports"][number]} one
 * @param {string} corpus
 * @param {Marker} mark
 * @returns {HTMLElement}
 */
function reportFound(one, corpus, mark) {
  const { before, words, after } = one.snippet;
  return element(
    "div",
    {},
    link(addressOf(corpus, "community", one.community_id), element("bdi", {}, ...mark(cut(one.title, 160)))),
    element("span", { class: "muted" }, ` C${one.level}`),
    words &&
      element(
        "p",
        { class: "snippet" },
        element("bdi", {}, ...mark((before + words + after).replace(/(^|\s)#+ /g, "$1"))),
      ),
  );
}

/**
 * @param {Found["documents"][number]} one
 * @param {string} corpus
 * @param {Marker} mark
 * @returns {HTMLElement}
 */
function documentFound(one, corpus, mark) {
  return element(
    "div",
    {},
    link(addressOf(corpus, "document", one.document_id), element("bdi", {}, ...mark(cut(one.title, 160)))),
    element("span", { class: "muted" }, " ", element("bdi", {}, ...mark(one.path))),
  );
}

/**
 * @param {View} view
 * @returns {HTMLElement}
 */
function nothingHasThem(view) {
  const { corpus } = view.place;
  return element(
    "section",
    { class: "nothing" },
    element("h2", {}, "Nothing contains all of these words"),
    element(
      "ul",
      {},
      element("li", {}, "Use fewer words, or only the start of one."),
      element(
        "li",
        {},
        "Words are searched as they are written in the texts: try the language of the documents.",
      ),
      element(
        "li",
        {},
        "Browse ",
        link(addressOf(corpus, "tables", "entities"), "all entities"),
        " or ",
        link(addressOf(corpus, "tables", "documents"), "all documents"),
        ".",
      ),
      view.source.live &&
        element(
          "li",
          {},
          "To search by meaning, ",
          link(addressOf(corpus, "ask", "", { q: view.place.query.get("query") }), "ask it as a question"),
          ".",
        ),
    ),
  );
}
