// @ts-check

import { stepTree } from "../answers/steps.js";
import { addressOf } from "../base/addresses.js";
import { element, fill, link, name } from "../base/dom.js";
import { orGone } from "../base/gone.js";
import { growing } from "../base/paging.js";
import { facts, jumps, section, unfolding } from "../base/parts.js";
import { corpusPath } from "../base/source.js";
import { titled } from "../base/view.js";
import { counted, number, spoken } from "../base/wording.js";
import { cellLine } from "./cells_told.js";
import { citationList, reportText } from "./report_text.js";

/** @typedef {import("../base/view.js").View} View */
/** @typedef {import("../api.d.ts").CommunityPage} CommunityPage */

/**
 * Show a community: its report with what that cites, its members, and where it lies among others.
 * @param {View} view
 */
export async function showCommunity(view) {
  const { place, source, main, signal } = view;
  const path = corpusPath(place.corpus, "communities", place.id);
  /** @type {CommunityPage | null} */
  const community = await orGone(view, "community", source.get(path));
  if (!community || signal.aborted) return;
  titled(community.title.slice(0, 160), view);
  const members = section("Members", element("div", { class: "pairs" }, memberList(view, community, path)));
  const inside = section("Parts", childList(view, community));
  const cites = community.citations.length > 0 && citationList(community.citations, place.corpus);
  const why = unfolding(
    "What the report is based on",
    "Looking up what it was written from…",
    signal,
    async () => {
      const step = await source.get(corpusPath(place.corpus, "why", "report", place.id));
      return stepTree(step, place.corpus);
    },
  );
  fill(
    main,
    element(
      "div",
      { class: "reading" },
      element(
        "header",
        { class: "reading-head" },
        element("p", { class: "kicker" }, `community of level C${community.level}`),
        element("h1", {}, name(community.title, 160)),
        element(
          "p",
          { class: "lead" },
          `${counted(community.size, "member")}, in texts of ${counted(community.tokens, "token")}.`,
        ),
        jumps([
          [`Members (${number(community.members_total)})`, members],
          [`Parts (${number(community.children_total)})`, community.children_total > 0 && inside],
          [`Sources (${number(community.citations.length)})`, cites],
          ["What the report is based on", community.statements.length > 0 && why],
        ]),
      ),
      element(
        "aside",
        { class: "beside", "aria-label": "About this community" },
        communityAside(view, community),
      ),
      element(
        "div",
        { class: "column" },
        section("Report", reportText(community, place.corpus)),
        members,
        community.children_total > 0 && inside,
        cites,
        community.statements.length > 0 && why,
      ),
    ),
  );
}

/**
 * @param {View} view
 * @param {CommunityPage} community
 * @returns {HTMLElement[]}
 */
function communityAside(view, community) {
  const { corpus } = view.place;
  const map = addressOf(corpus, "map", "", { within: community.community_id, view: "graph" });
  return [
    facts([
      [
        "Importance",
        community.rating !== null && [
          element("meter", { min: 0, max: 10, value: community.rating, "aria-label": "Importance, of 10" }),
          ` ${number(community.rating)} of 10`,
          community.rating_explanation && element("p", { class: "remark" }, community.rating_explanation),
        ],
      ],
      ["Report written", reportEngine(community)],
      ["ID in reports", String(community.number)],
    ]),
    section(
      "Part of",
      community.path.length
        ? element(
            "ol",
            { class: "plain" },
            ...community.path.map((cell) => element("li", {}, cellLine(cell, corpus))),
          )
        : element("p", { class: "remark" }, "Nothing larger: it is at the top level."),
      element("p", {}, link(map, "Show in the map")),
    ),
  ];
}

/**
 * @param {CommunityPage} community
 * @returns {import("../base/dom.js").Child[]}
 */
function reportEngine(community) {
  if (!community.engine) return ["not written"];
  const honest =
    community.engine === "extractive"
      ? "without a model: quotations, chosen by rules"
      : community.engine === "llm"
        ? "by a model"
        : `by ${spoken(community.engine)}`;
  if (!community.problem) return [honest];
  return [
    honest,
    element("p", { class: "remark" }, `A model's report could not be used: ${community.problem}`),
  ];
}

/**
 * @param {View} view
 * @param {CommunityPage} community
 * @param {string} path
 * @returns {HTMLElement}
 */
function memberList(view, community, path) {
  return growing({
    held: community.members,
    total: community.members_total,
    atOnce: 24,
    what: "members",
    draw: (one) =>
      element(
        "div",
        {},
        link(addressOf(view.place.corpus, "entity", one.entity_id), name(one.title)),
        element("span", { class: "muted" }, ` ${spoken(one.type)} · ${counted(one.degree, "neighbour")}`),
      ),
    load: async (offset) => (await view.source.get(`${path}/members`, { offset, limit: 100 })).members,
    signal: view.signal,
  });
}

/**
 * @param {View} view
 * @param {CommunityPage} community
 * @returns {HTMLElement}
 */
function childList(view, community) {
  const left = community.children_total - community.children.length;
  const map = addressOf(view.place.corpus, "map", "", { within: community.community_id });
  return element(
    "div",
    {},
    element(
      "ul",
      { class: "plain" },
      ...community.children.map((one) => element("li", {}, cellLine(one, view.place.corpus))),
    ),
    left > 0 &&
      element("p", { class: "remark" }, `and ${number(left)} smaller ones: `, link(map, "see the map")),
  );
}
