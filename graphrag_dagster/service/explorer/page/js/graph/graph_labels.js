// @ts-check
import { cut } from "../base/dom.js";

const LONGEST_LABEL = 36;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out.
const UNSEEN = /[\u0000-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g;

/** @typedef {{x: number, y: number, size: number, label: string | null, zIndex: number}} LabelledNode */
/** @typedef {{labelSize: number, labelFont: string, labelWeight: string}} LabelSettings */
/** @typedef {ReturnType<typeof import("../base/colours.js").canvasColours>} CanvasColours */

/**
 * A name as it can stand in a drawing: one line, not long, without marks that turn what is around it.
 * @param {string} name
 * @returns {string}
 */
export function graphLabel(name) {
  return cut(name.slice(0, 1000).replace(UNSEEN, " ").trim() || "(no name)", LONGEST_LABEL);
}

/**
 * Ways to draw names in colours that are asked for anew each time, as they change with light and dark.
 * Names are gathered and then written, those of entities and of large nodes first, where no other stands.
 * @param {() => CanvasColours} colours
 */
export function labelDrawers(colours) {
  /** @type {{context: CanvasRenderingContext2D, node: LabelledNode, settings: LabelSettings}[]} */
  let gathered = [];
  return {
    /**
     * @param {CanvasRenderingContext2D} context
     * @param {LabelledNode} node
     * @param {LabelSettings} settings
     */
    gatherLabel(context, node, settings) {
      if (node.label) gathered.push({ context, node, settings });
    },
    writeLabels() {
      /** @type {DOMRect[]} */
      const written = [];
      const ordered = gathered.sort((a, b) => b.node.zIndex - a.node.zIndex || b.node.size - a.node.size);
      for (const { context, node, settings } of ordered) {
        useFont(context, settings);
        const box = labelBox(context, node, settings, 3);
        if (written.some((other) => overlap(box, other))) continue;
        written.push(box);
        context.lineJoin = "round";
        context.lineWidth = 3;
        context.strokeStyle = colours().ground;
        const at = /** @type {const} */ ([box.x, node.y + settings.labelSize / 3]);
        context.strokeText(node.label ?? "", ...at);
        context.fillStyle = colours().text;
        context.fillText(node.label ?? "", ...at);
      }
      gathered = [];
    },
    /**
     * @param {CanvasRenderingContext2D} context
     * @param {LabelledNode} node
     * @param {LabelSettings} settings
     */
    drawHover(context, node, settings) {
      const { ground, text } = colours();
      useFont(context, settings);
      context.strokeStyle = text;
      context.fillStyle = ground;
      context.lineWidth = 2;
      context.beginPath();
      context.arc(node.x, node.y, node.size + 3, 0, 2 * Math.PI);
      context.stroke();
      if (!node.label) return;
      const box = labelBox(context, node, settings, 12);
      context.lineWidth = 1;
      context.beginPath();
      context.roundRect(box.x - 6, box.y - 4, box.width + 12, box.height + 8, 4);
      context.fill();
      context.stroke();
      context.fillStyle = text;
      context.fillText(node.label, box.x, node.y + settings.labelSize / 3);
    },
  };
}

/**
 * Where a name stands: after its node, or before it where there is no room.
 * @param {CanvasRenderingContext2D} context
 * @param {LabelledNode} node
 * @param {LabelSettings} settings
 * @param {number} gap
 * @returns {DOMRect}
 */
function labelBox(context, node, { labelSize }, gap) {
  const { width } = context.measureText(node.label ?? "");
  const after = node.x + node.size + gap;
  const fits = after + width <= context.canvas.clientWidth - 2;
  const x = fits ? after : Math.max(node.x - node.size - gap - width, 2);
  return new DOMRect(x, node.y - labelSize / 2, width, labelSize);
}

/**
 * @param {DOMRect} one
 * @param {DOMRect} other
 * @returns {boolean}
 */
function overlap(one, other) {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {LabelSettings} settings
 */
function useFont(context, { labelWeight, labelSize, labelFont }) {
  context.font = `${labelWeight} ${labelSize}px ${labelFont}`;
}
