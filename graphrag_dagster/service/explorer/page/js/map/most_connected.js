// @ts-check
import { addressOf } from "../base/addresses.js";
import { element, link, name } from "../base/dom.js";
import { remark } from "../base/messages.js";
import { counted, spoken } from "../base/wording.js";

const LISTED = 12;

/**
 * The entities of a drawing that have the most neighbours.
 * @param {import("../base/view.js").View} view
 * @param {import("../api.d.ts").Drawn} drawn
 * @returns {HTMLElement}
 */
export function mostConnected(view, drawn) {
  const found = drawn.nodes
    .filter((node) => node.kind === "entity")
    .sort((one, other) => other.size - one.size)
    .slice(0, LISTED);
  if (!found.length) return remark("No entity is shown.");
  const most = Math.max(found[0]?.size ?? 0, 1);
  const rows = found.map((node) => {
    const open = link(addressOf(view.place.corpus, "entity", node.id), name(node.label));
    open.classList.add("map-name");
    const bar = element("span", { class: "map-bar-filled", "aria-hidden": "true" });
    bar.style.width = `${Math.max((100 * node.size) / most, 0.5)}%`;
    const told = [counted(node.size, "neighbour"), node.type && spoken(node.type)]
      .filter(Boolean)
      .join(" · ");
    return element(
      "li",
      {},
      element("span", { class: "map-row" }, open),
      element("span", { class: "map-bar-room" }, bar),
      element("span", { class: "muted" }, element("bdi", {}, told)),
    );
  });
  return element("ol", { class: "map-list", role: "list" }, ...rows);
}
