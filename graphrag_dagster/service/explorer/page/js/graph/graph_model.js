// @ts-check
import { communityColour } from "../base/colours.js";
import { graphLabel } from "./graph_labels.js";

/** @typedef {import("../api.d.ts").Drawn} Drawn */

/**
 * Make what is drawn of what the server sent.
 * @param {Drawn} drawn
 * @returns {any} a graph of graphology, nodes by their place
 */
export function graphOf(drawn) {
  const graph = new graphology.UndirectedGraph();
  const radius = { entity: radiusOf(drawn, false), gathered: radiusOf(drawn, true) };
  drawn.nodes.forEach((node, place) => {
    const gathered = node.kind !== "entity";
    graph.addNode(String(place), {
      x: node.x,
      y: node.y,
      label: graphLabel(node.label),
      size: (gathered ? radius.gathered : radius.entity)(node.size),
      color: communityColour(node.community),
      type: gathered ? "ring" : "dot",
      zIndex: gathered ? 1 : 2,
    });
  });
  const heaviest = Math.max(...drawn.edges.map(([, , weight]) => weight), 1);
  for (const [one, other, weight] of drawn.edges) {
    const size = 0.4 + (drawn.edges.length > 2000 ? 1.2 : 2.4) * Math.sqrt(Math.max(weight, 0) / heaviest);
    if (one !== other) graph.mergeEdge(String(one), String(other), { size });
  }
  return graph;
}

/**
 * How large nodes are drawn: entities by neighbours, others by members, each by their own scale.
 * @param {Drawn} drawn
 * @param {boolean} gathered
 * @returns {(size: number) => number} in pixels
 */
function radiusOf(drawn, gathered) {
  const many = drawn.nodes.length > 500;
  const own = drawn.nodes.filter((node) => (node.kind !== "entity") === gathered);
  const most = Math.max(...own.map((node) => node.size), 12);
  const least = many ? 2 : drawn.nodes.length > 60 ? 3 : 6;
  const range = gathered ? 5 : many ? 9 : 12;
  return (size) => least + range * Math.sqrt(size / most);
}

/**
 * What stands out of a graph, and what steps back.
 * @param {any} graph
 * @param {Drawn} drawn
 */
export function emphasisOf(graph, drawn) {
  /** @type {string | null} */
  let hovered = null;
  /** @type {string | null} */
  let chosen = null;
  /** @type {number | null} */
  let community = null;
  /** @type {Set<string> | null} */
  let near = null;
  const renew = () => {
    const node = hovered ?? chosen;
    if (node !== null) near = new Set([node, ...graph.neighbors(node)]);
    else if (community !== null) {
      const inside = drawn.nodes.flatMap((one, place) =>
        one.community === community ? [String(place)] : [],
      );
      near = new Set(inside);
    } else near = null;
  };
  return {
    hover(/** @type {string | null} */ node) {
      hovered = node;
      renew();
    },
    choose(/** @type {string | null} */ node) {
      [chosen, community] = [node, null];
      renew();
    },
    community(/** @type {number | null} */ index) {
      [chosen, community] = [null, index];
      renew();
    },
    count: () => near?.size ?? 0,
    ofNode(/** @type {string} */ node) {
      if (!near) return "none";
      if (!near.has(node)) return "faded";
      return node === (hovered ?? chosen) ? "chosen" : "near";
    },
    ofEdge(/** @type {string} */ edge) {
      if (!near) return "none";
      const ends = graph.extremities(edge);
      const node = hovered ?? chosen;
      const stands =
        node === null ? ends.every((/** @type {string} */ end) => near?.has(end)) : ends.includes(node);
      return stands ? "near" : "faded";
    },
  };
}
