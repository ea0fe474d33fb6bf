// @ts-check
import { button, element, fill, name } from "../base/dom.js";
import { spoken } from "../base/wording.js";

const MOST_HITS = 8;

/**
 * A field that finds nodes of a drawing by name.
 * @param {import("../api.d.ts").Drawn} drawn
 * @param {(node: number) => void} choose
 * @returns {HTMLElement}
 */
export function nodeFinder(drawn, choose) {
  const folded = drawn.nodes.map((node) => foldedName(node.label));
  const field = /** @type {HTMLInputElement} */ (
    element("input", {
      type: "search",
      placeholder: "Find a name here",
      "aria-label": "Find a name in the graph",
      autocomplete: "off",
    })
  );
  const hits = element("ul", { class: "graph-hits", hidden: true });
  const told = element("p", { class: "map-unseen", role: "status" });
  const close = () => {
    hits.hidden = true;
    fill(told);
  };
  const take = (/** @type {number} */ place) => {
    close();
    choose(place);
  };
  const look = () => {
    const words = foldedName(field.value).split(/\s+/).filter(Boolean);
    if (!words.length) return close();
    const found = folded.flatMap((one, place) => (words.every((word) => one.includes(word)) ? [place] : []));
    const shown = found.slice(0, MOST_HITS).map((place) => {
      const node = drawn.nodes[place];
      const type = node?.type ? element("span", { class: "muted" }, ` ${spoken(node.type)}`) : null;
      return element(
        "li",
        {},
        button(
          [name(node?.label, 60), type].flatMap((one) => one ?? []),
          () => take(place),
        ),
      );
    });
    const more = found.length - shown.length;
    if (!found.length)
      shown.push(element("li", { class: "remark" }, "No entity in the graph has this name."));
    if (more > 0) shown.push(element("li", { class: "remark" }, `and ${more} more`));
    fill(hits, ...shown);
    hits.hidden = false;
    fill(told, `${found.length} found`);
  };
  const finder = element("div", { class: "graph-finder" }, field, hits, told);
  field.addEventListener("input", look);
  finder.addEventListener("keydown", (event) => {
    const all = [...hits.querySelectorAll("button")];
    if (event.key === "Escape" && !hits.hidden) {
      close();
      field.focus();
    } else if (event.key === "Enter" && event.target === field) all[0]?.click();
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const at = all.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
      (all[at + (event.key === "ArrowDown" ? 1 : -1)] ?? field).focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  finder.addEventListener("focusout", (event) => {
    if (!finder.contains(/** @type {Node | null} */ (event.relatedTarget))) close();
  });
  return finder;
}

/**
 * A name without accents, in small letters.
 * @param {string} text
 * @returns {string}
 */
function foldedName(text) {
  return text.slice(0, 4000).normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}
