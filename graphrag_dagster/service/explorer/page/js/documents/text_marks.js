// @ts-check
import { addressOf } from "../base/addresses.js";
import { element, link } from "../base/dom.js";
import { keep, kept } from "../shell/shell.js";

/** @typedef {import("../api.d.ts").DocumentText} DocumentText */
/** @typedef {import("../api.d.ts").TextPart} TextPart */
/** @typedef {{entities: boolean, claims: boolean}} ShownMarks */

const MARKS = "graphrag_dagster.marks";

/**
 * The parts of a text with what is marked in them; what is cited at a stretch is one mark.
 * @param {string} corpus
 * @param {DocumentText} text
 * @param {ShownMarks} shown
 * @returns {Node[]}
 */
export function paintedText(corpus, text, shown) {
  /** @type {Node[]} */
  const painted = [];
  /** @type {HTMLElement | null} */
  let cited = null;
  for (const [at, part] of text.parts.entries()) {
    const marked = markedPart(corpus, text, part, shown, text.parts[at + 1]);
    if (part.cited && cited) cited.append(marked);
    else {
      cited = part.cited ? element("mark", { class: "cited", tabindex: -1 }, marked) : null;
      painted.push(cited ?? marked);
    }
  }
  return painted;
}

/**
 * @param {string} corpus
 * @param {DocumentText} text
 * @param {TextPart} part
 * @param {ShownMarks} shown
 * @param {TextPart | undefined} next
 * @returns {Node}
 */
function markedPart(corpus, text, part, shown, next) {
  const [named] = part.entities;
  const entity = shown.entities && named !== undefined ? text.entities[named] : undefined;
  const claims = shown.claims ? part.claims : [];
  let made = /** @type {Node} */ (document.createTextNode(part.text));
  if (entity) {
    const to = link(addressOf(corpus, "entity", entity.entity_id), made);
    to.className = "named";
    to.title = part.entities.map((one) => text.entities[one]?.title.slice(0, 120)).join(", ");
    made = to;
  }
  if (!claims.length) return made;
  const ending = claims.filter((one) => !next?.claims.includes(one));
  return element(
    "span",
    { class: "claimed" },
    made,
    ...ending.map((one) => element("sup", {}, `claim ${one + 1}`)),
  );
}

/**
 * What is marked in a text and how, to be turned on and off.
 * @param {DocumentText} text
 * @param {ShownMarks} shown
 * @param {() => void} draw
 * @returns {HTMLElement}
 */
export function markToggles(text, shown, draw) {
  return element(
    "fieldset",
    { class: "marks" },
    element("legend", {}, "Marked in the text"),
    markToggle("entities", ["entities: ", element("span", { class: "named" }, "underlined links")]),
    text.claims.length > 0 &&
      markToggle("claims", ["claims: ", element("span", { class: "claimed" }, "dotted line below")]),
    citedLegend(),
  );

  /**
   * @param {keyof ShownMarks} what
   * @param {(Node | string)[]} label
   * @returns {HTMLElement}
   */
  function markToggle(what, label) {
    const box = /** @type {HTMLInputElement} */ (
      element("input", { type: "checkbox", checked: shown[what] })
    );
    box.addEventListener("change", () => {
      shown[what] = box.checked;
      keep(MARKS, JSON.stringify(shown));
      draw();
    });
    return element("label", {}, box, " ", element("span", {}, ...label));
  }
}

/**
 * @returns {HTMLElement}
 */
function citedLegend() {
  return element(
    "span",
    { class: "legend-cited" },
    "cited words: ",
    element("mark", { class: "cited" }, "framed"),
  );
}

/**
 * What was marked when a text was last read in this browser.
 * @returns {ShownMarks}
 */
export function keptMarks() {
  const all = { entities: true, claims: true };
  try {
    const found = JSON.parse(kept(MARKS) ?? "{}");
    return { entities: found.entities !== false, claims: found.claims !== false };
  } catch {
    return all;
  }
}
