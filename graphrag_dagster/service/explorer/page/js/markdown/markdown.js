// @ts-check
import { element } from "../base/dom.js";
import { inlineMarkdown } from "./markdown_inline.js";
import { tableAt } from "./markdown_table.js";

/** @typedef {import("./markdown_inline.js").InlineMark} InlineMark */
/** @typedef {{next: number, node: HTMLElement}} BlockRead */

const MD_DEPTH = 6;
const MD_LONGEST = 200_000;
/** Headings of a text stand below those of the page. */
const MD_HEADINGS_BELOW = 3;
const MD_FENCE = /^ {0,3}(`{3,}|~{3,})/;
const MD_HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const MD_RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const MD_QUOTE = /^ {0,3}> ?/;
const MD_ITEM = /^( {0,3})([-*+•]|(\d{1,9})[.)])([ \t]+|$)/;

/**
 * Make of Markdown what we allow: paragraphs, headings, lists, quotes, code, rules, simple tables, and what
 * `inlineMarkdown` reads within them. HTML and images stay the text that they are.
 * @param {string} text
 * @param {InlineMark} [mark] default: `[label]` stays text
 * @returns {HTMLElement[]}
 */
export function markdown(text, mark = () => null) {
  const made = blocksOf(text.slice(0, MD_LONGEST).split(/\r\n?|\n/), mark, 0);
  if (text.length > MD_LONGEST)
    made.push(element("p", { class: "muted" }, "The rest is too long to be shown."));
  return made;
}

/**
 * @param {string[]} lines
 * @param {InlineMark} mark
 * @param {number} depth
 * @returns {HTMLElement[]}
 */
function blocksOf(lines, mark, depth) {
  const made = [];
  let at = 0;
  while (at < lines.length) {
    if (!lines[at]?.trim()) {
      at += 1;
      continue;
    }
    const read =
      fenceAt(lines, at) ??
      headingAt(lines, at, mark) ??
      ruleAt(lines, at) ??
      (depth < MD_DEPTH ? (quoteAt(lines, at, mark, depth) ?? listAt(lines, at, mark, depth)) : null) ??
      tableAt(lines, at, mark) ??
      paragraphAt(lines, at, mark);
    made.push(read.node);
    at = read.next;
  }
  return made;
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @returns {BlockRead | null}
 */
function fenceAt(lines, at) {
  const fence = MD_FENCE.exec(lines[at] ?? "")?.[1];
  if (!fence) return null;
  let end = at + 1;
  while (end < lines.length && !closesFence(lines[end] ?? "", fence)) end += 1;
  const code = element("code", {}, lines.slice(at + 1, end).join("\n"));
  return { next: end + 1, node: element("pre", { tabindex: 0 }, code) };
}

/**
 * @param {string} line
 * @param {string} fence
 */
function closesFence(line, fence) {
  const text = line.trim();
  return text.length >= fence.length && text === (fence[0] ?? "").repeat(text.length);
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {InlineMark} mark
 * @returns {BlockRead | null}
 */
function headingAt(lines, at, mark) {
  const found = MD_HEADING.exec(lines[at] ?? "");
  if (!found) return null;
  const level = Math.min(6, (found[1] ?? "").length + MD_HEADINGS_BELOW);
  const text = withoutClosing((lines[at] ?? "").slice(found[0].length).trim());
  return { next: at + 1, node: element(`h${level}`, { dir: "auto" }, ...inlineMarkdown(text, mark)) };
}

/**
 * A heading without the `#` that may stand behind it. No pattern: one would take forever over a long row.
 * @param {string} text
 */
function withoutClosing(text) {
  let end = text.length;
  while (text[end - 1] === "#") end -= 1;
  return end === 0 || /\s/.test(text[end - 1] ?? "") ? text.slice(0, end).trimEnd() : text;
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @returns {BlockRead | null}
 */
function ruleAt(lines, at) {
  return MD_RULE.test(lines[at] ?? "") ? { next: at + 1, node: element("hr") } : null;
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {InlineMark} mark
 * @param {number} depth
 * @returns {BlockRead | null}
 */
function quoteAt(lines, at, mark, depth) {
  let end = at;
  while (end < lines.length && MD_QUOTE.test(lines[end] ?? "")) end += 1;
  if (end === at) return null;
  const inner = lines.slice(at, end).map((line) => line.replace(MD_QUOTE, ""));
  return { next: end, node: element("blockquote", {}, ...blocksOf(inner, mark, depth + 1)) };
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {InlineMark} mark
 * @param {number} depth
 * @returns {BlockRead | null}
 */
function listAt(lines, at, mark, depth) {
  const first = MD_ITEM.exec(lines[at] ?? "");
  if (!first) return null;
  const ordered = first[3] !== undefined;
  const items = [];
  let next = at;
  while (next < lines.length) {
    const found = MD_ITEM.exec(lines[next] ?? "");
    if (!found || (found[3] !== undefined) !== ordered || MD_RULE.test(lines[next] ?? "")) break;
    const item = itemLines(lines, next, found[0].length);
    const inner = blocksOf(item.lines, mark, depth + 1);
    const alone =
      inner.length && inner[0]?.tagName === "P" ? [...inner[0].childNodes, ...inner.slice(1)] : inner;
    items.push(element("li", { dir: "auto" }, ...alone));
    next = item.next;
  }
  if (!items.length) return null;
  return {
    next,
    node: element(ordered ? "ol" : "ul", { start: ordered ? Number(first[3]) : null }, ...items),
  };
}

/**
 * The lines of an item of a list, without what they are indented by; they go on over a blank line only where
 * the next is indented.
 * @param {string[]} lines
 * @param {number} at
 * @param {number} indent
 */
function itemLines(lines, at, indent) {
  const own = [(lines[at] ?? "").slice(indent)];
  const begins = new RegExp(`^(?: {${Math.min(indent, 8)}}| {2,}|\\t)`);
  let next = at + 1;
  while (next < lines.length) {
    const line = lines[next] ?? "";
    const blank = !line.trim();
    if (blank && !begins.test(lines[next + 1] ?? "")) break;
    if (!blank && !begins.test(line) && (startsBlock(line) || MD_ITEM.test(line) || !own.at(-1)?.trim()))
      break;
    own.push(line.replace(begins, ""));
    next += 1;
  }
  while (next < lines.length && !lines[next]?.trim() && MD_ITEM.test(lines[next + 1] ?? "")) next += 1;
  return { lines: own, next };
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {InlineMark} mark
 * @returns {BlockRead}
 */
function paragraphAt(lines, at, mark) {
  let end = at + 1;
  while (end < lines.length && lines[end]?.trim() && !startsBlock(lines[end] ?? "")) end += 1;
  const text = lines.slice(at, end).map(paragraphLine).join("\n").trimEnd();
  return { next: end, node: element("p", { dir: "auto" }, ...inlineMarkdown(text, mark)) };
}

/**
 * A line with at most two blanks behind it, which break it.
 * @param {string} line
 */
function paragraphLine(line) {
  const text = line.trimEnd();
  return `${text.trimStart()}${line.length - text.length >= 2 ? "  " : ""}`;
}

/**
 * Whether a line ends the paragraph before it; of numbers only 1 begins a list there.
 * @param {string} line
 */
function startsBlock(line) {
  const item = MD_ITEM.exec(line);
  const lists = item !== null && (item[3] === undefined || item[3] === "1") && item[4] !== "";
  return lists || MD_FENCE.test(line) || MD_HEADING.test(line) || MD_RULE.test(line) || MD_QUOTE.test(line);
}
