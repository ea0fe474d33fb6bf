// @ts-check
import { cut, element } from "../base/dom.js";

/** @typedef {(label: string) => Node | null} InlineMark what stands for `[label]`; null leaves it a text */

const MD_INLINE_DEPTH = 6;
const MD_TARGET = 100;
const MD_PLAIN = /[^\\`*_~[<\n ]+| +(?! *\n)/y;
const MD_ESCAPED = /\\([!-/:-@[-`{-~])/y;
const MD_BREAK = /(?: {2,}|\\)\n/y;
const MD_TICKS = /`+/y;
const MD_LABEL = /\[([^[\]\n]{1,200})\]/y;
const MD_LINK =
  /\[([^[\]\n]{0,300})\]\(\s*<?((?:[^\s<>()]|\([^\s<>()]*\)){1,2000})>?(?:\s+"[^"\n]{0,200}")?\s*\)/y;
const MD_AUTOLINK = /<(https?:\/\/[^\s<>]{1,2000})>/y;
const MD_DELIMITER = /\*\*|__|~~|\*|_/y;
/** @type {Record<string, string>} */
const MD_EMPHASIS = { "**": "strong", __: "strong", "~~": "del", "*": "em", _: "em" };

/**
 * Read the Markdown within a block: emphasis, code, links, marks. All else, HTML included, is text.
 * @param {string} text
 * @param {InlineMark} mark
 * @param {number} [depth] of emphasis around it
 * @returns {(Node | string)[]}
 */
export function inlineMarkdown(text, mark, depth = 0) {
  /** @type {(Node | string)[]} */
  const made = [];
  /** @type {Set<string>} delimiters that close nowhere from here on */
  const unclosed = new Set();
  let plain = "";
  let at = 0;
  while (at < text.length) {
    const found = inlineMatch(MD_PLAIN, text, at, ([whole]) => whole) ??
      inlineMatch(MD_ESCAPED, text, at, ([, letter]) => letter ?? "") ??
      inlineMatch(MD_BREAK, text, at, () => element("br")) ??
      codeAt(text, at, unclosed) ??
      linkAt(text, at, depth) ??
      inlineMatch(MD_LABEL, text, at, ([, label]) => mark(label ?? "")) ??
      emphasisAt(text, at, mark, depth, unclosed) ?? { end: at + 1, node: text[at] ?? "" };
    if (typeof found.node === "string") plain += found.node;
    else {
      made.push(plain, found.node);
      plain = "";
    }
    at = found.end;
  }
  return [...made, plain].filter((one) => one !== "");
}

/** @typedef {{end: number, node: Node | string}} InlineFound */

/**
 * @param {RegExp} pattern a sticky one
 * @param {string} text
 * @param {number} at
 * @param {(found: RegExpExecArray) => Node | string | null} make
 * @returns {InlineFound | null}
 */
function inlineMatch(pattern, text, at, make) {
  pattern.lastIndex = at;
  const found = pattern.exec(text);
  const node = found ? make(found) : null;
  return found && node !== null ? { end: at + found[0].length, node } : null;
}

/**
 * @param {string} text
 * @param {number} at
 * @param {Set<string>} unclosed
 * @returns {InlineFound | null}
 */
function codeAt(text, at, unclosed) {
  MD_TICKS.lastIndex = at;
  const ticks = MD_TICKS.exec(text)?.[0];
  if (!ticks) return null;
  const begin = at + ticks.length;
  const close = unclosed.has(ticks) ? -1 : endOfCode(text, begin, ticks.length);
  if (close < 0) {
    unclosed.add(ticks);
    return { end: begin, node: ticks };
  }
  const code = text.slice(begin, close).replaceAll("\n", " ");
  const node = element("code", {}, /^ .*\S.* $/.test(code) ? code.slice(1, -1) : code);
  return { end: close + ticks.length, node };
}

/**
 * @param {string} text
 * @param {number} from
 * @param {number} length of the run of ticks
 * @returns {number} -1 for nowhere
 */
function endOfCode(text, from, length) {
  const runs = /`+/g;
  runs.lastIndex = from;
  for (let run = runs.exec(text); run; run = runs.exec(text)) if (run[0].length === length) return run.index;
  return -1;
}

/**
 * A link to a page elsewhere, always with its target; to anything but http and https there is none.
 * @param {string} text
 * @param {number} at
 * @param {number} depth
 * @returns {InlineFound | null}
 */
function linkAt(text, at, depth) {
  return (
    inlineMatch(MD_AUTOLINK, text, at, ([, target]) => outwardLink(target ?? "", [])) ??
    inlineMatch(MD_LINK, text, at, ([, words, target]) =>
      depth > MD_INLINE_DEPTH
        ? null
        : outwardLink(
            target ?? "",
            inlineMarkdown(words ?? "", () => null, depth + 1),
          ),
    )
  );
}

/**
 * @param {string} target
 * @param {(Node | string)[]} words
 * @returns {HTMLElement | null}
 */
function outwardLink(target, words) {
  if (!/^https?:\/\//i.test(target) || !URL.canParse(target)) return null;
  const shown = cut(new URL(target).href, MD_TARGET);
  const attributes = { href: target, target: "_blank", rel: "noopener noreferrer", class: "outward" };
  const told = words.length ? [element("bdi", {}, ...words), " (", element("bdi", {}, shown), ")"] : [shown];
  return element("a", attributes, ...told);
}

/**
 * @param {string} text
 * @param {number} at
 * @param {InlineMark} mark
 * @param {number} depth
 * @param {Set<string>} unclosed
 * @returns {InlineFound | null}
 */
function emphasisAt(text, at, mark, depth, unclosed) {
  MD_DELIMITER.lastIndex = at;
  const delimiter = MD_DELIMITER.exec(text)?.[0];
  if (!delimiter) return null;
  const begin = at + delimiter.length;
  const opens =
    depth < MD_INLINE_DEPTH &&
    /\S/.test(text[begin] ?? "") &&
    (delimiter[0] !== "_" || !/\w/.test(text[at - 1] ?? ""));
  const close = opens && !unclosed.has(delimiter) ? endOfEmphasis(text, begin, delimiter) : -1;
  if (close < 0) {
    if (opens) unclosed.add(delimiter);
    return { end: begin, node: delimiter };
  }
  const inner = inlineMarkdown(text.slice(begin, close), mark, depth + 1);
  const node = element(MD_EMPHASIS[delimiter] ?? "em", {}, ...inner);
  return { end: close + delimiter.length, node };
}

/**
 * @param {string} text
 * @param {number} from
 * @param {string} delimiter
 * @returns {number} -1 for nowhere
 */
function endOfEmphasis(text, from, delimiter) {
  const letter = delimiter[0] ?? "*";
  const runs = new RegExp(`\\${letter}+`, "g");
  runs.lastIndex = from;
  for (let run = runs.exec(text); run; run = runs.exec(text)) {
    const after = run.index + run[0].length;
    const long = delimiter.length === 2 ? run[0].length >= 2 : run[0].length % 2 === 1;
    const parted = letter !== "_" || !/\w/.test(text[after] ?? "");
    if (long && parted && run.index > from && /\S/.test(text[run.index - 1] ?? ""))
      return after - delimiter.length;
  }
  return -1;
}
