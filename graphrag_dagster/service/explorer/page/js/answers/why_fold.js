// @ts-check
import { element, fill } from "../base/dom.js";
import { remark } from "../base/messages.js";
import { troubled } from "../base/parts.js";
import { corpusPath } from "../base/source.js";
import { stepTree } from "./steps.js";

/** @typedef {import("../api.d.ts").LineageStep} Step */

/**
 * What a row rests on, down to the words; loaded when it is unfolded.
 * @param {import("../base/view.js").View} view
 * @param {string} kind as the service names it
 * @param {string} id
 * @param {string} way from the row to the words, a line that stands above
 * @param {number | null} finding of a report, which then comes first: -1 its summary
 * @returns {HTMLElement}
 */
export function whyFold(view, kind, id, way, finding) {
  const corpus = view.overview.corpus;
  const body = element("div", { class: "why-body", "aria-live": "polite" });
  const made = /** @type {HTMLDetailsElement} */ (
    element("details", { class: "why" }, element("summary", {}, "Why"), body)
  );
  const load = async () => {
    fill(body, remark("Loading what it rests on…"));
    try {
      const root = /** @type {Step} */ (await view.source.get(corpusPath(corpus, "why", kind, id)));
      if (view.signal.aborted) return;
      const tree = stepTree(foremost(root, finding), corpus);
      if (finding !== null) tree.querySelector(".step .step")?.toggleAttribute("open", true);
      fill(body, element("p", { class: "muted" }, way), tree);
    } catch (error) {
      if (!view.signal.aborted) fill(body, troubled(error, load));
    }
  };
  made.addEventListener("toggle", () => made.open && !body.hasChildNodes() && load());
  return made;
}

/**
 * A report with the part that is meant before the others.
 * @param {Step} root
 * @param {number | null} finding
 * @returns {Step}
 */
function foremost(root, finding) {
  if (finding === null) return root;
  const parts = root.steps.filter((one) => one.kind === (finding < 0 ? "summary" : "finding"));
  const meant = parts[Math.max(finding, 0)];
  return meant ? { ...root, steps: [meant, ...root.steps.filter((one) => one !== meant)] } : root;
}
