// @ts-check

import { answerFold, answerTable } from "./account.js";
import { addressOf } from "./addresses.js";
import { element, link, name } from "./dom.js";
import { facts } from "./parts.js";
import { counted, number } from "./wording.js";

/** @typedef {(Node | string | false)[]} TraceParts */

/**
 * How an answer of the way `graph` came about.
 * @param {string} corpus
 * @param {import("./api.d.ts").GraphTrace} trace
 * @returns {TraceParts}
 */
export function graphTrace(corpus, trace) {
  const communities = trace.communities.map((one) => [
    link(addressOf(corpus, "community", one.community_id), name(one.title)),
    one.score === null ? "of an entity in the question" : number(one.score),
  ]);
  const nodes = trace.context_nodes.map((one) => [
    link(addressOf(corpus, "entity", one.entity_id), name(one.title)),
    link(addressOf(corpus, "community", one.community_id), "the community it resembles"),
    link(addressOf(corpus, "community", one.home_id), "its own community"),
  ]);
  const brought = trace.brought_in.map((one) => [
    name(`${one.head} – ${one.relation} – ${one.tail}`),
    one.similarity === null ? "–" : number(one.similarity),
  ]);
  return [
    facts([
      ["Route", `${trace.route}, chosen by ${trace.by}`],
      ["Why", trace.reason],
      [
        "Relationships",
        trace.queries.length > 0 && `${number(trace.facts)} found, ${number(trace.shown)} read`,
      ],
      ["Not over the property graph", trace.untold],
      ["Context nodes", trace.boundary],
    ]),
    ...trace.queries.map(traceGraphQuery),
    communities.length > 0 && answerTable("Communities", ["Community", "Score"], communities),
    nodes.length > 0 && answerTable("Context nodes", ["Context node", "Attached to", "Member of"], nodes),
    brought.length > 0 && answerTable("Brought in", ["Relationship brought in", "Similarity (0–1)"], brought),
  ];
}

/** @param {import("./api.d.ts").NodeQuery} query */
function traceGraphQuery(query) {
  const made = query.template ? `the template ${query.template}` : "a model";
  const values = Object.keys(query.parameters).length ? JSON.stringify(query.parameters) : "";
  return answerFold(
    `Query over the ${query.over}`,
    [
      facts([
        ["Read as", query.reading],
        ["Made by", made],
        ["Values", values],
      ]),
      element("pre", { tabindex: 0 }, element("code", {}, query.text)),
    ],
    `by ${made}: ${counted(query.rows, "row")}${query.more ? " or more" : ""}`,
  );
}

/**
 * How an answer of the way `paths` came about.
 * @param {string} corpus
 * @param {import("./api.d.ts").PathTrace} trace
 * @returns {TraceParts}
 */
export function pathsTrace(corpus, trace) {
  if (!trace.seeds.length) return ["The question names no entity of the graph: passages alone were read."];
  const paths = trace.paths.map((one) => [
    name(one.text.replaceAll(" -> ", " → "), 300),
    number(one.score),
    element(
      "span",
      {},
      ...one.entity_ids.flatMap((id, place) => [
        place ? " " : "",
        link(addressOf(corpus, "entity", id), `${place + 1}`),
      ]),
    ),
  ]);
  return [
    facts([
      ["From", trace.seeds.join(", ")],
      ["By", trace.modules],
      ["Part of the graph", `${counted(trace.nodes, "entity", "entities")}, ${counted(trace.edges, "edge")}`],
      [
        "Read",
        `${counted(trace.stated, "passage")} that state them, ${counted(trace.shown, "relationship")}`,
      ],
      ["Problems", trace.problems.join("; ")],
    ]),
    answerTable("Paths", ["Path", "Score", "Its entities"], paths),
  ];
}
