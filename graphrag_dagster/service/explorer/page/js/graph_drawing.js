// @ts-check
import { calm, canvasColours, onThemeChange } from "./colours.js";
import { labelDrawers } from "./graph_labels.js";
import { emphasisOf, graphOf } from "./graph_model.js";

/** @typedef {import("./api.d.ts").Drawn} Drawn */

const GLIDE_MS = 200;
const MOST_LABELS = 25;
const CLOSE = 0.35;

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
  const ring = Sigma.rendering.createNodeBorderProgram({
    borders: [
      { size: { attribute: "rim" }, color: { attribute: "rimColour" } },
      { size: { fill: true }, color: { attribute: "color" } },
    ],
  });
  const sigma = new Sigma(graph, holder, {
    allowInvalidContainer: true,
    defaultNodeType: "ring",
    nodeProgramClasses: { ring },
    defaultDrawNodeLabel: gatherLabel,
    defaultDrawNodeHover: drawHover,
    labelFont: getComputedStyle(holder).fontFamily,
    labelSize: 13,
    labelRenderedSizeThreshold: drawn.nodes.length > 150 ? 6 : 0,
    labelGridCellSize: 60,
    labelDensity: 1.5,
    minEdgeThickness: 0.7,
    stagePadding: 36,
    zIndex: true,
    enableCameraRotation: false,
    minCameraRatio: 0.02,
    maxCameraRatio: 2.5,
    inertiaDuration: glide,
    zoomDuration: glide,
    doubleClickZoomingDuration: glide,
    nodeReducer: (/** @type {string} */ node, /** @type {any} */ data) => {
      const own = { ...data, rimColour: data.gathered ? colours.text : colours.rim };
      const state = emphasis.ofNode(node);
      if (state === "faded") return { ...own, ...faded(colours), label: "", zIndex: 0 };
      if (state === "none") return own;
      const told = state === "chosen" || emphasis.count() <= MOST_LABELS;
      return { ...own, zIndex: 2, forceLabel: told, highlighted: state === "chosen" };
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
  const go = (/** @type {object} */ state) => {
    if (calm()) camera.setState({ ...camera.getState(), ...state });
    else camera.animate(state, { duration: GLIDE_MS });
  };
  return {
    select(node, near = false) {
      emphasis.choose(node === null ? null : String(node));
      again();
      const at = node === null || !near ? null : sigma.getNodeDisplayData(String(node));
      if (at) go({ x: at.x, y: at.y, ratio: Math.min(camera.getState().ratio, CLOSE) });
    },
    emphasise(community) {
      emphasis.community(community);
      again();
    },
    zoom: (factor) => go({ ratio: camera.getBoundedRatio(camera.getState().ratio / factor) }),
    pan(x, y) {
      const { ratio, ...at } = camera.getState();
      go({ x: at.x + x * ratio, y: at.y + y * ratio });
    },
    fit: () => go({ x: 0.5, y: 0.5, ratio: 1, angle: 0 }),
  };
}

/**
 * @param {{faded: string}} colours
 */
function faded(colours) {
  return { color: colours.faded, rimColour: colours.faded };
}
