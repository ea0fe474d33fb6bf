// @ts-check
import { addressWith } from "../base/addresses.js";
import { element, fill, link } from "../base/dom.js";
import { stretches } from "../base/paging.js";
import { section } from "../base/parts.js";
import { corpusPath } from "../base/source.js";
import { number } from "../base/wording.js";
import { keptMarks, markToggles, paintedText } from "./text_marks.js";

/** @typedef {import("../base/view.js").View} View */
/** @typedef {import("../api.d.ts").DocumentText} DocumentText */
/** @typedef {[number, number]} CitedRange first character and one past the last, in code points */

const WINDOW = 50_000;
const CONTEXT = 4_000;

/**
 * Where the stretch of a text begins that an address asks for.
 * @param {import("../base/addresses.js").Place} place
 * @returns {number}
 */
export function windowStart(place) {
  const asked = Number(place.query.get("start") ?? Number.NaN);
  if (Number.isInteger(asked) && asked >= 0) return asked;
  const [cited] = citedRanges(place.query.get("cited"));
  if (!cited) return 0;
  const [first, last] = cited;
  const start = first - (first % WINDOW);
  const whole = last <= start + WINDOW && (first >= start + CONTEXT || start === 0);
  return whole ? start : Math.max(0, first - CONTEXT);
}

/**
 * Ask for a stretch of a document's text, cut where what is cited begins and ends.
 * @param {View} view
 * @param {number} start
 * @returns {Promise<DocumentText>}
 */
export function loadText(view, start) {
  const path = corpusPath(view.place.corpus, "documents", view.place.id, "text");
  const ranges = citedRanges(view.place.query.get("cited"));
  const cited = ranges.map((range) => range.join("-")).join(",");
  return view.source.get(path, { start, end: start + WINDOW, cited });
}

/**
 * A stretch of a document's text with what is named, claimed and cited in it marked.
 * @param {View} view
 * @param {DocumentText} text
 * @returns {HTMLElement}
 */
export function textSection(view, text) {
  const ranges = citedRanges(view.place.query.get("cited"));
  const shown = keptMarks();
  const body = element("div", { class: "document-text", dir: "auto" });
  const draw = () => fill(body, ...paintedText(view.place.corpus, text, shown));
  draw();
  const label = "Parts of the text";
  const place = { ...view.place, query: withoutCited(view.place.query) };
  const stretch = {
    key: "start",
    offset: text.start,
    size: WINDOW,
    total: text.characters,
    what: "Characters",
  };
  return section(
    "Text",
    markToggles(text, shown, draw),
    farCited(view, text, ranges),
    stretches(place, { ...stretch, label }),
    text.parts.length ? body : noText(view, text),
    text.end - text.start < text.characters &&
      text.parts.length > 0 &&
      stretches(place, { ...stretch, label: `${label}, at its end` }),
    text.claims.length > 0 && claimNotes(text),
  );
}

/**
 * Bring what is cited to the middle of the window, for eyes and for the keyboard.
 * @param {HTMLElement} main
 * @param {AbortSignal} signal
 */
export function showCited(main, signal) {
  // After the page has got the focus, which would take it away again.
  requestAnimationFrame(() => {
    const cited = /** @type {HTMLElement | null} */ (main.querySelector(".document-text mark.cited"));
    if (signal.aborted || !cited) return;
    cited.scrollIntoView({ block: "center" });
    cited.focus({ preventScroll: true });
  });
}

/**
 * The ranges of characters of an address, such as 120-180,300-320; what is none is passed over.
 * @param {string | null} cited
 * @returns {CitedRange[]}
 */
function citedRanges(cited) {
  return (cited ?? "")
    .split(",")
    .flatMap((one) => {
      const found = /^\s*(\d{1,9})-(\d{1,9})\s*$/.exec(one);
      return found && Number(found[1]) < Number(found[2])
        ? [/** @type {CitedRange} */ ([Number(found[1]), Number(found[2])])]
        : [];
    })
    .sort(([one], [other]) => one - other);
}

/**
 * @param {View} view
 * @param {DocumentText} text
 * @returns {HTMLElement}
 */
function noText(view, text) {
  if (!text.characters) return element("p", { class: "remark" }, "This document has no text.");
  const beginning = link(addressWith(view.place, { start: null, cited: null }), "Go to the start");
  return element("p", { class: "remark" }, "The text ends before this position. ", beginning);
}

/**
 * @param {URLSearchParams} query
 * @returns {URLSearchParams}
 */
function withoutCited(query) {
  const others = new URLSearchParams(query);
  others.delete("cited");
  return others;
}

/**
 * @param {View} view
 * @param {DocumentText} text
 * @param {CitedRange[]} ranges
 * @returns {HTMLElement | null}
 */
function farCited(view, text, ranges) {
  const [first] = ranges;
  if (!first || ranges.some(([start, end]) => start < text.end && end > text.start)) return null;
  if (first[0] >= text.characters)
    return element(
      "p",
      { class: "remark" },
      "The cited words are not in the current version of this document.",
    );
  return element(
    "p",
    { class: "remark" },
    "The cited words are in another part of the text: ",
    link(addressWith(view.place, { start: null }), "show them"),
  );
}

/**
 * @param {DocumentText} text
 * @returns {HTMLElement}
 */
function claimNotes(text) {
  return element(
    "details",
    { class: "claim-notes" },
    element("summary", {}, `The claims marked here (${number(text.claims.length)})`),
    element(
      "ol",
      {},
      ...text.claims.map((one) =>
        element("li", {}, element("bdi", {}, one.description), ` (${one.status.toLowerCase()})`),
      ),
    ),
  );
}
