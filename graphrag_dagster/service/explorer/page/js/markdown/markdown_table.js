// @ts-check
import { element } from "../base/dom.js";
import { inlineMarkdown } from "./markdown_inline.js";

const MD_COLUMNS = 40;
const MD_DASHES = /^[\s|:-]+$/;

/**
 * Read a simple table: a row of titles, one of dashes, and rows.
 * @param {string[]} lines
 * @param {number} at
 * @param {import("./markdown_inline.js").InlineMark} mark
 * @returns {{next: number, node: HTMLElement} | null}
 */
export function tableAt(lines, at, mark) {
  const [head = "", dashes = ""] = lines.slice(at, at + 2);
  if (!head.includes("|") || !dashes.includes("|") || !dashes.includes("-") || !MD_DASHES.test(dashes))
    return null;
  let end = at + 2;
  while (end < lines.length && lines[end]?.includes("|")) end += 1;
  const columns = cellsOf(head);
  const row = (/** @type {string[]} */ cells, /** @type {string} */ tag) =>
    element(
      "tr",
      {},
      ...columns.map((_, place) => element(tag, {}, ...inlineMarkdown(cells[place] ?? "", mark))),
    );
  const body = lines.slice(at + 2, end).map((line) => row(cellsOf(line), "td"));
  const table = element("table", {}, element("thead", {}, row(columns, "th")), element("tbody", {}, ...body));
  const about = { class: "scrolled", tabindex: 0, role: "region", "aria-label": "Table of the answer" };
  return { next: end, node: element("div", about, table) };
}

/**
 * @param {string} line
 * @returns {string[]}
 */
function cellsOf(line) {
  const inner = line
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/, MD_COLUMNS).map((cell) => cell.replaceAll("\\|", "|").trim());
}
