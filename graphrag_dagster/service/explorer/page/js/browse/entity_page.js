// @ts-check

import { stepTree } from "../answers/steps.js";
import { addressOf } from "../base/addresses.js";
import { madeBy } from "../base/columns.js";
import { element, fill, link, name } from "../base/dom.js";
import { orGone } from "../base/gone.js";
import { growing } from "../base/paging.js";
import { facts, foldedText, jumps, section, unfolding } from "../base/parts.js";
import { placeView } from "../base/place.js";
import { corpusPath } from "../base/source.js";
import { titled } from "../base/view.js";
import { counted, number, spoken } from "../base/wording.js";

/** @typedef {import("../base/view.js").View} View */
/** @typedef {import("../api.d.ts").EntityPage} EntityPage */

const LONGEST_TITLE = 160;

/**
 * Show an entity with what is around it and where it is named.
 * @param {View} view
 */
export async function showEntity(view) {
  const { place, source, main, signal } = view;
  const path = corpusPath(place.corpus, "entities", place.id);
  /** @type {EntityPage | null} */
  const entity = await orGone(view, "entity", source.get(path));
  if (!entity || signal.aborted) return;
  titled(entity.title.slice(0, LONGEST_TITLE), view);
  const neighbours = section("Neighbours", neighbourList(view, entity, path));
  const mentions = section("Mentions", mentionList(view, entity, path));
  const claims = entity.claims_total > 0 && section("Claims", claimList(entity));
  const why = unfolding("Where it comes from", "Looking up what it was made from…", signal, async () => {
    const step = await source.get(corpusPath(place.corpus, "why", "entity", place.id));
    return stepTree(step, place.corpus);
  });
  fill(
    main,
    element(
      "div",
      { class: "reading" },
      element(
        "header",
        { class: "reading-head" },
        element("p", { class: "kicker" }, spoken(entity.type)),
        element("h1", {}, name(entity.title, LONGEST_TITLE)),
        element("p", { class: "lead" }, entityTold(entity)),
        jumps([
          [`Neighbours (${number(entity.neighbours_total)})`, neighbours],
          [`Mentions (${number(entity.mentions.total)})`, mentions],
          [`Claims (${number(entity.claims_total)})`, claims],
          ["Where it comes from", why],
        ]),
      ),
      element("aside", { class: "beside", "aria-label": "About this entity" }, entityAside(view, entity)),
      element("div", { class: "column" }, entityDescription(entity), neighbours, mentions, claims, why),
    ),
  );
}

/**
 * @param {EntityPage} entity
 * @returns {string}
 */
function entityTold(entity) {
  const named = `Mentioned in ${counted(entity.frequency, "text unit")} of ${counted(entity.documents, "document")}`;
  if (!entity.degree) return `${named}, related to no other entity.`;
  return `${named}, related to ${counted(entity.degree, "other entity", "other entities")}.`;
}

/**
 * @param {EntityPage} entity
 * @returns {HTMLElement}
 */
function entityDescription(entity) {
  if (!entity.description)
    return section("Description", element("p", { class: "remark" }, "The texts do not say what it is."));
  return section(
    "Description",
    element("p", { class: "prose" }, foldedText(entity.description, 1500, "the description")),
    element("p", { class: "remark" }, describedBy(entity.description_engine)),
  );
}

/**
 * @param {string} engine
 * @returns {string}
 */
function describedBy(engine) {
  if (engine === "as_is") return "The texts say only this about it.";
  return `Combined from the texts ${madeBy(engine)}.`;
}

/**
 * @param {View} view
 * @param {EntityPage} entity
 * @returns {HTMLElement[]}
 */
function entityAside(view, entity) {
  const { corpus } = view.place;
  const deepest = entity.communities.at(-1);
  const names = [...new Set([entity.title, ...entity.names])];
  // The heading has it, unless it is cut there.
  const spelled = names.length > 1 || entity.title.length > LONGEST_TITLE;
  const map = deepest && addressOf(corpus, "map", "", { within: deepest.community_id, view: "graph" });
  return [
    facts([
      [
        names.length > 1 ? "Names" : "Name",
        spelled && element("ul", { class: "plain" }, ...names.map(spelling)),
      ],
      ["Extracted", counted(entity.instances, "time")],
      ["ID in reports", String(entity.number)],
    ]),
    section(
      "Communities",
      entity.communities.length
        ? element(
            "ol",
            { class: "plain" },
            ...entity.communities.map((one) =>
              element(
                "li",
                { class: "level-line" },
                element("span", { class: "level" }, `C${one.level}`),
                link(addressOf(corpus, "community", one.community_id), name(one.title)),
              ),
            ),
          )
        : element("p", { class: "remark" }, "It is in none, because it has no relationships."),
      map ? element("p", {}, link(map, "Show in the map")) : null,
    ),
  ];
}

/**
 * @param {string} text
 * @returns {HTMLElement}
 */
function spelling(text) {
  return element("li", {}, foldedText(text, LONGEST_TITLE, "the name"));
}

/**
 * @param {View} view
 * @param {EntityPage} entity
 * @param {string} path
 * @returns {HTMLElement}
 */
function neighbourList(view, entity, path) {
  if (!entity.neighbours_total) return element("p", { class: "remark" }, "It has no relationships.");
  return growing({
    held: entity.neighbours,
    total: entity.neighbours_total,
    atOnce: 10,
    what: "neighbours",
    draw: (one) =>
      element(
        "div",
        { class: "neighbour" },
        link(addressOf(view.place.corpus, "entity", one.entity_id), name(one.title)),
        element("span", { class: "muted" }, ` ${spoken(one.type)} · weight ${number(one.weight)}`),
        one.description && element("p", {}, foldedText(one.description, 220, "what relates them")),
      ),
    load: async (offset) => (await view.source.get(`${path}/neighbours`, { offset, limit: 100 })).neighbours,
    signal: view.signal,
  });
}

/**
 * @param {View} view
 * @param {EntityPage} entity
 * @param {string} path
 * @returns {HTMLElement}
 */
function mentionList(view, entity, path) {
  const { mentions, total } = entity.mentions;
  if (!total) return element("p", { class: "remark" }, "No mention is known.");
  return growing({
    held: mentions,
    total,
    atOnce: 10,
    what: "mentions",
    draw: (one) => placeView(one, view.place.corpus),
    load: async (offset) => (await view.source.get(`${path}/mentions`, { offset, limit: 50 })).mentions,
    signal: view.signal,
  });
}

/**
 * @param {EntityPage} entity
 * @returns {HTMLElement[]}
 */
function claimList(entity) {
  const left = entity.claims_total - entity.claims.length;
  return [
    element(
      "ul",
      { class: "plain" },
      ...entity.claims.map((one) =>
        element(
          "li",
          { class: "claim-told" },
          element("span", { class: "kind" }, `${spoken(one.type)}, ${claimStatus(one.status)}`),
          element("p", {}, foldedText(one.description, 400, "the claim")),
        ),
      ),
    ),
    ...(left > 0
      ? [element("p", { class: "remark" }, `and ${number(left)} more, in the table of claims`)]
      : []),
  ];
}

/**
 * What the status of a claim means.
 * @param {string} status TRUE, FALSE or SUSPECTED
 * @returns {string}
 */
function claimStatus(status) {
  if (status === "TRUE") return "stated as true";
  return status === "FALSE" ? "stated as false" : "suspected";
}
