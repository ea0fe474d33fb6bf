// @ts-check
import { addressOf } from "../base/addresses.js";
import { element, fill, link, name } from "../base/dom.js";
import { orGone } from "../base/gone.js";
import { growing } from "../base/paging.js";
import { facts, foldedText, jumps, section, unfolding } from "../base/parts.js";
import { corpusPath } from "../base/source.js";
import { titled } from "../base/view.js";
import { counted, number, spoken } from "../base/wording.js";
import { impactView } from "./document_impact.js";
import { loadText, showCited, textSection, windowStart } from "./document_text.js";
import { unitTable } from "./document_units.js";

/** @typedef {import("../base/view.js").View} View */
/** @typedef {import("../api.d.ts").DocumentPage} DocumentPage */

const LONGEST_VALUE = 300;

/**
 * Show a document: its text with what is marked in it, what was made of it, and what rests on it.
 * @param {View} view
 */
export async function showDocument(view) {
  const { place, source, main, signal } = view;
  const path = corpusPath(place.corpus, "documents", place.id);
  const loading = Promise.all([source.get(path), loadText(view, windowStart(place))]);
  const found = await orGone(view, "document", loading);
  if (!found || signal.aborted) return;
  const document = /** @type {DocumentPage} */ (found[0]);
  titled(document.title.slice(0, 160), view);
  const text = textSection(view, found[1]);
  const units = section("Text units", unitTable(view, document));
  const without = unfolding(
    "What would change without it",
    "Looking up what depends on it…",
    signal,
    async () => impactView(await source.get(`${path}/impact`), place.corpus),
  );
  const entities = section("Entities", namedList(view, document));
  fill(
    main,
    element(
      "div",
      { class: "reading" },
      element(
        "header",
        { class: "reading-head" },
        element("p", { class: "kicker" }, "document"),
        element("h1", {}, name(document.title, 200)),
        element("p", { class: "lead" }, documentTold(document)),
        jumps([
          ["Text", text],
          [`Entities (${number(document.entities_total)})`, entities],
          [`Text units (${number(document.units_total)})`, units],
          ["What would change without it", without],
        ]),
      ),
      element("div", { class: "column" }, text, units, without),
      element(
        "aside",
        { class: "beside", "aria-label": "About this document" },
        documentFacts(document),
        entities,
      ),
    ),
  );
  showCited(main, signal);
}

/**
 * @param {DocumentPage} document
 * @returns {string}
 */
function documentTold(document) {
  const { units_total: units, entities_total: entities } = document;
  return `${counted(document.characters, "character")}, read in ${counted(units, "text unit")}; mentions ${counted(entities, "entity", "entities")}.`;
}

/**
 * @param {DocumentPage} document
 * @returns {HTMLElement}
 */
function documentFacts(document) {
  const { file, metadata } = document;
  return facts([
    ["File", element("bdi", {}, document.path)],
    ["Row in the file", document.row === null ? null : number(document.row + 1)],
    [
      "Status",
      file && [
        file.incomplete ? element("strong", {}, "Read in part") : spoken(file.status),
        file.format && `, as ${file.format}`,
        `, ${counted(file.bytes, "byte")}`,
        file.reason && element("p", { class: "remark" }, file.reason),
      ],
    ],
    ["Date", document.date],
    ["ID in reports", String(document.number)],
    ...Object.entries(metadata).map(
      ([key, value]) =>
        /** @type {[string, Node]} */ ([
          key.slice(0, 80),
          foldedText(metadataText(value), LONGEST_VALUE, key),
        ]),
    ),
  ]);
}

/**
 * @param {unknown} value
 * @returns {string}
 */
function metadataText(value) {
  if (Array.isArray(value)) return value.map(metadataText).join(", ");
  return value !== null && typeof value === "object" ? JSON.stringify(value) : String(value ?? "–");
}

/**
 * @param {View} view
 * @param {DocumentPage} document
 * @returns {HTMLElement}
 */
function namedList(view, document) {
  if (!document.entities_total) return element("p", { class: "remark" }, "No entity was found in it.");
  const left = document.entities_total - document.entities.length;
  return element(
    "div",
    {},
    growing({
      held: document.entities,
      total: document.entities.length,
      atOnce: 15,
      what: "entities",
      draw: (one) =>
        element(
          "div",
          {},
          link(addressOf(view.place.corpus, "entity", one.entity_id), name(one.title)),
          element("span", { class: "muted" }, ` ${spoken(one.type)} · ${counted(one.mentions, "mention")}`),
        ),
      load: async () => [],
      signal: view.signal,
    }),
    left > 0 && element("p", { class: "remark" }, `and ${number(left)} more that it mentions less often`),
  );
}
