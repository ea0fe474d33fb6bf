// @ts-check
import { addressOf } from "../base/addresses.js";
import { COLOURED, communityColour } from "../base/colours.js";
import { button, element, fill, link, name } from "../base/dom.js";
import { counted, number, spoken } from "../base/wording.js";
import { graphAddress } from "../map/map_state.js";

/** @typedef {import("../api.d.ts").Drawn} Drawn */
/** @typedef {import("../base/view.js").View} View */

/**
 * What is drawn of a graph, and what is not.
 * @param {Drawn} drawn
 * @returns {string}
 */
export function drawnTold(drawn) {
  const edges = drawn.edges.length;
  if (!drawn.aggregated && !drawn.edges_left_out) {
    const between = edges ? ` and ${counted(edges, "relationship")} between them` : "";
    return `${counted(drawn.drawn, "entity", "entities")}${between} shown.`;
  }
  const told = [`${number(drawn.drawn)} most connected of ${number(drawn.entities)} entities shown`];
  if (!drawn.aggregated) told[0] = `${counted(drawn.drawn, "entity", "entities")} shown`;
  const groups = drawn.nodes.filter((node) => node.kind === "community").length;
  if (groups) {
    const gathered = `${number(drawn.aggregated)} grouped into ${counted(groups, "community", "communities")}`;
    told.push(drawn.nodes.some((node) => node.kind === "rest") ? `${gathered} and a remainder` : gathered);
  } else if (drawn.aggregated) told.push(`${number(drawn.aggregated)} grouped into one`);
  told.push(`${counted(edges, "relationship")} shown`);
  if (drawn.edges_left_out) told.push(`${counted(drawn.edges_left_out, "weaker relationship")} left out`);
  return `${told.join(", ")}.`;
}

/**
 * What the marks of a graph stand for; a press on a community emphasises it.
 * @param {Drawn} drawn
 * @param {(community: number | null) => void} emphasise
 * @returns {HTMLElement}
 */
export function graphLegend(drawn, emphasise) {
  const shown = drawn.communities.slice(0, COLOURED).map((community, place) => {
    const made = button([swatch(place), name(community.title, 40)], () => {
      const pressed = made.getAttribute("aria-pressed") !== "true";
      for (const other of legend.querySelectorAll("button")) other.setAttribute("aria-pressed", "false");
      made.setAttribute("aria-pressed", String(pressed));
      emphasise(pressed ? place : null);
    });
    made.setAttribute("aria-pressed", "false");
    return element("li", {}, made);
  });
  const others = drawn.communities.length - shown.length;
  if (others > 0) {
    const told = `${counted(others, "other community", "other communities")}`;
    shown.push(element("li", { class: "graph-others" }, swatch(null), told));
  }
  const told = ["Larger dots have more neighbours."];
  if (drawn.aggregated) told.push("Rings are groups of entities; larger rings have more.");
  if (drawn.communities.length) told.push("Colour: community.");
  const legend = element("ul", { class: "graph-legend", "aria-label": "Communities shown" }, ...shown);
  return element("div", {}, element("p", { class: "muted" }, told.join(" ")), legend);
}

/**
 * @param {number | null} community
 * @returns {HTMLElement}
 */
function swatch(community) {
  const made = element("span", { class: "graph-swatch", "aria-hidden": "true" });
  made.style.background = communityColour(community);
  return made;
}

/**
 * Say more of a node.
 * @param {HTMLElement} card
 * @param {View} view
 * @param {Drawn} drawn
 * @param {number} place
 * @param {HTMLElement} close
 */
export function fillNodeCard(card, view, drawn, place, close) {
  const node = drawn.nodes[place];
  if (!node) return;
  const community = node.community === null ? null : drawn.communities[node.community];
  const told = [];
  const ways = [];
  if (node.kind === "entity") {
    if (node.type) told.push(spoken(node.type));
    told.push(counted(node.size, "neighbour"));
    ways.push(link(addressOf(view.place.corpus, "entity", node.id), "Open its page"));
  } else {
    told.push(`${counted(node.members, "entity", "entities")} grouped, each with few neighbours`);
    if (node.kind === "community") ways.push(link(graphAddress(view, node.id), "Zoom in on it"));
  }
  if (community) {
    ways.push(
      link(addressOf(view.place.corpus, "community", community.community_id), "Report of its community"),
    );
  }
  fill(
    card,
    close,
    element("h3", {}, name(node.label)),
    element("p", { class: "muted" }, element("bdi", {}, told.join(" · "))),
    community &&
      node.kind === "entity" &&
      element("p", { class: "map-sentence" }, "In ", name(community.title)),
    element("p", { class: "map-ways" }, ...ways),
  );
}
