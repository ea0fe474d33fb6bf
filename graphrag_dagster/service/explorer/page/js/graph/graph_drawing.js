// @ts-check
import { calm, canvasColours, onThemeChange } from "../base/colours.js";
import { labelDrawers } from "./graph_labels.js";
import { emphasisOf, graphOf } from "./graph_model.js";

/** @typedef {import("../api.d.ts").Drawn} Drawn */

const GLIDE_MS = 200;
const MOST_LABELS = 25;
const CLOSE = 0.35;
/** @type {[number | null, string][]} */
const DOT = [
  [0.14, "rim"],
  [null, "color"],
];
/** @type {[number | null, string][]} */
const RING = [
  [0.12, "rim"],
  [0.36, "color"],
  [null, "ground"],
];

/**
 * A graph on the screen.
 * @typedef {object} GraphDrawing
 * @property {(node: number | null, near?: boolean) => void} select emphasise a node and its neighbours, and go there
 * @property {(community: number | null) => void} emphasise a community
 * @property {(factor: number) => void} zoom
 * @property {(x: number, y: number) => void} pan by shares of what is seen
 * @property {() => void} fit
 */

/**
 * Draw a graph, where it is said to be.
 * @param {HTMLElement} holder
 * @param {Drawn} drawn
 * @param {(node: number | null) => void} clicked called with the place of a node, or null for none
 * @param {AbortSignal} signal
 * @returns {GraphDrawing}
 */
export function drawGraph(holder, drawn, clicked, signal) {
  let colours = canvasColours(holder);
  const graph = graphOf(drawn);
  const emphasis = emphasisOf(graph, drawn);
  const { gatherLabel, writeLabels, drawHover } = labelDrawers(() => colours);
  const glide = calm() ? 1 : GLIDE_MS;
  const sigma = new Sigma(graph, holder, {
    allowInvalidContainer: true,
    // Drawn in this order, so that entities stand above what is gathered.
    nodeProgramClasses: { ring: nodeProgram(RING), dot: nodeProgram(DOT) },
    defaultDrawNodeLabel: gatherLabel,
    defaultDrawNodeHover: drawHover,
    labelFont: getComputedStyle(holder).fontFamily,
    labelSize: 13,
    labelRenderedSizeThreshold: drawn.nodes.length > 150 ? 6 : 0,
    labelGridCellSize: 60,
    labelDensity: 1.5,
    minEdgeThickness: 0.5,
    stagePadding: 36,
    zIndex: true,
    enableCameraRotation: false,
    minCameraRatio: 0.02,
    maxCameraRatio: 2.5,
    inertiaDuration: glide,
    zoomDuration: glide,
    doubleClickZoomingDuration: glide,
    nodeReducer: (/** @type {string} */ node, /** @type {any} */ data) => {
      const own = { ...data, ground: colours.ground, rim: colours.rim };
      const state = emphasis.ofNode(node);
      if (state === "faded") return { ...own, ...faded(colours), label: "", zIndex: 0 };
      if (state === "none") return own;
      const told = state === "chosen" || emphasis.count() <= MOST_LABELS;
      return { ...own, zIndex: 3, forceLabel: told, highlighted: state === "chosen" };
    },
    edgeReducer: (/** @type {string} */ edge, /** @type {any} */ data) => {
      const state = emphasis.ofEdge(edge);
      if (state === "faded") return { ...data, hidden: true };
      return { ...data, color: state === "none" ? colours.edge : colours.rim, zIndex: 1 };
    },
  });
  const again = () => {
    if (!signal.aborted) sigma.refresh({ schedule: true });
  };
  sigma.on("afterRender", writeLabels);
  sigma.on("enterNode", (/** @type {{node: string}} */ { node }) => {
    holder.classList.add("on-node");
    emphasis.hover(node);
    again();
  });
  sigma.on("leaveNode", () => {
    holder.classList.remove("on-node");
    emphasis.hover(null);
    again();
  });
  sigma.on("clickNode", (/** @type {{node: string}} */ { node }) => clicked(Number(node)));
  sigma.on("clickStage", () => clicked(null));
  const recolour = () => {
    colours = canvasColours(holder);
    again();
  };
  onThemeChange(() => requestAnimationFrame(recolour), signal);
  const watcher = new ResizeObserver(() => !signal.aborted && holder.clientWidth && again());
  watcher.observe(holder);
  signal.addEventListener("abort", () => {
    watcher.disconnect();
    sigma.kill();
  });

  const camera = sigma.getCamera();
  /** @type {{x: number, y: number, ratio: number}} */
  let aim = camera.getState();
  const heading = () => (camera.isAnimated() ? aim : camera.getState());
  const go = (/** @type {Partial<typeof aim>} */ state) => {
    aim = { ...heading(), ...state };
    if (calm()) camera.setState(aim);
    else camera.animate(aim, { duration: GLIDE_MS });
  };
  return {
    select(node, near = false) {
      const at = node === null || !near ? null : sigma.getNodeDisplayData(String(node));
      emphasis.choose(node === null ? null : String(node));
      again();
      if (at) go({ x: at.x, y: at.y, ratio: Math.min(heading().ratio, CLOSE) });
    },
    emphasise(community) {
      emphasis.community(community);
      again();
    },
    zoom: (factor) => go({ ratio: camera.getBoundedRatio(heading().ratio / factor) }),
    pan(x, y) {
      const at = heading();
      go({ x: at.x + x * at.ratio, y: at.y + y * at.ratio });
    },
    fit: () => go({ x: 0.5, y: 0.5, ratio: 1 }),
  };
}

/**
 * @param {[number | null, string][]} bands share of the radius and attribute of the colour, from outside in; null for the rest
 * @returns {any}
 */
function nodeProgram(bands) {
  return Sigma.rendering.createNodeBorderProgram({
    borders: bands.map(([share, attribute]) => ({
      size: share === null ? { fill: true } : { value: share },
      color: { attribute },
    })),
  });
}

/**
 * @param {{faded: string}} colours
 */
function faded(colours) {
  return { color: colours.faded, rim: colours.faded };
}
