// @ts-check
import { addressOf } from "../base/addresses.js";
import { element, link, name } from "../base/dom.js";
import { counted, number, spoken } from "../base/wording.js";

/** @typedef {import("../api.d.ts").DocumentImpact} DocumentImpact */
/** @typedef {Record<string, any>} ImpactRow */

/**
 * What would go or change without a document, in sentences and lists.
 * @param {DocumentImpact} impact
 * @param {string} corpus
 * @returns {HTMLElement}
 */
export function impactView(impact, corpus) {
  const told = impactSentences(impact);
  return element(
    "div",
    { class: "impact" },
    element("ul", {}, ...told.map((one) => element("li", {}, one))),
    impactList("Entities that would be removed", impact.entities.filter(goes), (row) =>
      entityLink(row, corpus),
    ),
    impactList("Entities that would be mentioned less often", impact.entities.filter(stays), (row) => [
      entityLink(row, corpus),
      element("span", { class: "muted" }, ` text units ${row.text_units} → ${row.text_units_after}`),
    ]),
    impactList("Relationships that would be removed", impact.relationships.filter(goes), relationshipEnds),
    impactList("Relationships that would be stated less often", impact.relationships.filter(stays), (row) => [
      relationshipEnds(row),
      element("span", { class: "muted" }, ` text units ${row.text_units} → ${row.text_units_after}`),
    ]),
    impactList("Claims", impact.claims, (row) => [
      element("bdi", {}, row.description),
      element("span", { class: "muted" }, row.gone ? " would be removed" : " would be made less often"),
    ]),
    impactList("Communities that would lose members", impact.communities, (row) => [
      communityLink(row.community_id, row.title ?? `Community ${row.human_readable_id}`, corpus),
      element("span", { class: "muted" }, ` C${row.level}, members ${row.size} → ${row.size_after}`),
    ]),
    impactList("Reports written from it", impact.reports, (row) => [
      communityLink(row.report_id, row.title, corpus),
      element("span", { class: "muted" }, ` C${row.level}`),
    ]),
    impactList("Saved answers that cite it or were shown it", impact.answers, (row) => [
      name(row.question ?? row.answer_id),
    ]),
    cutRemark(impact),
  );
}

/** @param {ImpactRow} row */
function goes(row) {
  return row.gone === true;
}

/** @param {ImpactRow} row */
function stays(row) {
  return row.gone !== true;
}

/**
 * @param {DocumentImpact} impact
 * @returns {(string | Node)[]}
 */
function impactSentences({ counts, totals, copies }) {
  /** @param {string} key */
  const many = (key) => counts[key] ?? 0;
  /** @type {[number, string][]} */
  const told = [
    [
      many("text_units_gone"),
      `${counted(many("text_units_gone"), "text unit")} of ${number(totals.text_units ?? 0)} would be removed.`,
    ],
    [
      many("entities_gone"),
      `${counted(many("entities_gone"), "entity", "entities")} of ${number(totals.entities ?? 0)} would be removed: only this document mentions them.`,
    ],
    [
      many("entities_less"),
      `${counted(many("entities_less"), "entity", "entities")} would be mentioned less often.`,
    ],
    [
      many("relationships_gone"),
      `${counted(many("relationships_gone"), "relationship")} of ${number(totals.relationships ?? 0)} would be removed.`,
    ],
    [
      many("relationships_less"),
      `${counted(many("relationships_less"), "relationship")} would be stated less often.`,
    ],
    [
      many("claims_gone"),
      `${counted(many("claims_gone"), "claim")} of ${number(totals.claims ?? 0)} would be removed.`,
    ],
    [many("claims_less"), `${counted(many("claims_less"), "claim")} would be made less often.`],
    [
      many("communities_less"),
      `${counted(many("communities_less"), "community", "communities")} would lose members.`,
    ],
    [
      many("reports_again"),
      `At most ${counted(many("reports_again"), "report")} of ${number(totals.reports ?? 0)} would be rewritten.`,
    ],
    [
      many("descriptions_again"),
      `At most ${counted(many("descriptions_again"), "description")} would be rewritten.`,
    ],
    [
      many("summaries_again"),
      `At most ${counted(many("summaries_again"), "summary", "summaries")} of CoTeRAG would be rewritten.`,
    ],
    [many("context_nodes_gone"), `${counted(many("context_nodes_gone"), "context node")} would be removed.`],
    [
      many("answers_citing"),
      `${counted(many("answers_citing"), "saved answer cites", "saved answers cite")} it.`,
    ],
  ];
  const said = told.filter(([count]) => count > 0).map(([, sentence]) => sentence);
  const same = copies.length
    ? [
        element(
          "span",
          {},
          "The same content is also in ",
          element("bdi", {}, copies.join(", ")),
          ", which would take its place.",
        ),
      ]
    : [];
  return [...same, ...(said.length ? said : ["Nothing else in the corpus depends on it."])];
}

/**
 * @param {string} title
 * @param {ImpactRow[]} rows
 * @param {(row: ImpactRow) => Node | Node[]} draw
 * @returns {HTMLElement | null}
 */
function impactList(title, rows, draw) {
  if (!rows.length) return null;
  return element(
    "details",
    {},
    element("summary", {}, `${title} (${number(rows.length)})`),
    element("ul", {}, ...rows.map((row) => element("li", {}, ...[draw(row)].flat()))),
  );
}

/**
 * @param {ImpactRow} row
 * @param {string} corpus
 * @returns {HTMLElement}
 */
function entityLink(row, corpus) {
  return link(addressOf(corpus, "entity", row.entity_id), name(row.title));
}

/**
 * @param {string} id
 * @param {string} title
 * @param {string} corpus
 * @returns {HTMLElement}
 */
function communityLink(id, title, corpus) {
  return link(addressOf(corpus, "community", id), name(title));
}

/**
 * @param {ImpactRow} row
 * @returns {HTMLElement}
 */
function relationshipEnds(row) {
  return element("span", {}, name(row.source), " – ", name(row.target));
}

/**
 * @param {DocumentImpact} impact
 * @returns {HTMLElement | null}
 */
function cutRemark(impact) {
  const cut = Object.entries(impact.found).flatMap(([what, found]) => {
    const shown = /** @type {Record<string, any>} */ (impact)[what]?.length ?? 0;
    return found > shown ? [`${number(shown)} of ${number(found)} ${spoken(what)}`] : [];
  });
  return cut.length ? element("p", { class: "remark" }, `Lists show ${cut.join(", ")}.`) : null;
}
