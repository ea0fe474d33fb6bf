// @ts-check
import { button, element, fill } from "../base/dom.js";
import { remark } from "../base/messages.js";
import { hasWebGL, loadVendored } from "../base/vendored.js";
import { drawGraph } from "./graph_drawing.js";
import { nodeFinder } from "./graph_finding.js";
import { drawnTold, fillNodeCard, graphLegend } from "./graph_telling.js";

/** @typedef {import("../api.d.ts").Drawn} Drawn */
/** @typedef {import("../base/view.js").View} View */
/** @typedef {import("./graph_drawing.js").GraphDrawing} GraphDrawing */

const ZOOM = 1.6;
const STEP = 0.15;
const KEYS =
  "Arrow keys move it, plus and minus zoom, 0 shows all. The most connected are listed on this page too.";

/**
 * The frame that a graph is going to be drawn in.
 * @returns {{section: HTMLElement, fail: (text: string) => void, show: (view: View, drawn: Drawn) => Promise<void>}}
 */
export function graphPanel() {
  const tools = element("div", { class: "map-tools" });
  const told = element("p", { class: "graph-told muted" });
  const legend = element("div", { class: "graph-marks" });
  const card = element("div", { class: "graph-card", "aria-live": "polite" });
  const canvas = element("div", {
    class: "graph-canvas",
    role: "application",
    "aria-label": `Graph. ${KEYS}`,
    "aria-busy": "true",
    tabindex: 0,
  });
  const over = element(
    "div",
    { class: "graph-over" },
    element("p", { class: "muted" }, "Drawing the graph…"),
  );
  const stage = element("div", { class: "graph-stage" }, canvas, over, card);
  const heading = element("div", { class: "map-panel-head" }, element("h2", {}, "Graph"), tools);
  const section = element(
    "section",
    { class: "map-graph", "aria-label": "Graph" },
    heading,
    stage,
    told,
    legend,
  );
  const fail = (/** @type {string} */ text) => {
    canvas.setAttribute("aria-busy", "false");
    canvas.hidden = true;
    over.hidden = false;
    fill(over, remark(text));
  };
  return {
    section,
    fail,
    async show(view, drawn) {
      fill(told, drawnTold(drawn));
      if (!drawn.nodes.length) return fail("There are no entities to draw here.");
      if (!hasWebGL()) {
        return fail(
          "This browser cannot draw graphs (it has no WebGL). The lists on this page show the same.",
        );
      }
      await seen(canvas, view.signal);
      try {
        await loadVendored();
      } catch {
        return view.signal.aborted
          ? undefined
          : fail("The graph library could not be loaded. Reload the page to try again.");
      }
      if (view.signal.aborted) return;
      const choose = (/** @type {number | null} */ node, near = false) => {
        graph.select(node, near);
        if (node === null) return fill(card);
        const close = button("×", () => choose(null), { class: "quiet", "aria-label": "Close" });
        fillNodeCard(card, view, drawn, node, close);
      };
      const graph = drawGraph(canvas, drawn, choose, view.signal);
      fill(legend, graphLegend(drawn, graph.emphasise));
      fill(
        tools,
        nodeFinder(drawn, (node) => choose(node, true)),
        zoomButtons(graph),
      );
      moveByKeys(canvas, graph, () => choose(null));
      wheelWhenWanted(canvas);
      canvas.addEventListener(
        "webglcontextlost",
        () => {
          if (!view.signal.aborted) fail("The drawing was lost. Reload the page to see it again.");
        },
        { capture: true },
      );
      over.hidden = true;
      canvas.setAttribute("aria-busy", "false");
    },
  };
}

/**
 * Wait until there is room for an element: on a small screen it may be hidden at first.
 * @param {HTMLElement} node
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function seen(node, signal) {
  return new Promise((resolve) => {
    const watcher = new ResizeObserver(() => {
      if (!node.clientWidth && !signal.aborted) return;
      watcher.disconnect();
      resolve();
    });
    watcher.observe(node);
    signal.addEventListener("abort", () => watcher.disconnect());
  });
}

/**
 * @param {GraphDrawing} graph
 * @returns {HTMLElement}
 */
function zoomButtons(graph) {
  return element(
    "div",
    { class: "graph-zoom", role: "group", "aria-label": "Zoom" },
    button("+", () => graph.zoom(ZOOM), { "aria-label": "Zoom in", title: "Zoom in" }),
    button("−", () => graph.zoom(1 / ZOOM), { "aria-label": "Zoom out", title: "Zoom out" }),
    button("Fit", graph.fit, { title: "Show all of it" }),
  );
}

/**
 * @param {HTMLElement} canvas
 * @param {GraphDrawing} graph
 * @param {() => void} leave
 */
function moveByKeys(canvas, graph, leave) {
  /** @type {Record<string, () => void>} */
  const acts = {
    ArrowLeft: () => graph.pan(-STEP, 0),
    ArrowRight: () => graph.pan(STEP, 0),
    ArrowUp: () => graph.pan(0, STEP),
    ArrowDown: () => graph.pan(0, -STEP),
    "+": () => graph.zoom(ZOOM),
    "=": () => graph.zoom(ZOOM),
    "-": () => graph.zoom(1 / ZOOM),
    0: graph.fit,
    Escape: leave,
  };
  canvas.addEventListener("keydown", (event) => {
    const act = acts[event.key];
    if (!act || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  });
}

/**
 * Leave the wheel to the page, unless one works in the graph: it was clicked on, or Ctrl is held.
 * @param {HTMLElement} canvas
 */
function wheelWhenWanted(canvas) {
  canvas.addEventListener("pointerdown", () => canvas.focus({ preventScroll: true }));
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && document.activeElement !== canvas) event.stopPropagation();
    },
    { capture: true, passive: true },
  );
}
