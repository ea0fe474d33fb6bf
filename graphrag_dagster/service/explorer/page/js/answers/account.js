// @ts-check
import { cut, element, name } from "../base/dom.js";
import { remark } from "../base/messages.js";
import { facts } from "../base/parts.js";
import { counted, number, spoken } from "../base/wording.js";

const ACCOUNT_ROWS = 25;
const ACCOUNT_DEPTH = 5;
const ACCOUNT_TEXT = 1000;

/**
 * A fold with a title, and a count behind it.
 * @param {string} title
 * @param {(Node | string | null | undefined | false)[]} children
 * @param {string} [count]
 * @returns {HTMLElement}
 */
export function answerFold(title, children, count = "") {
  const summary = element("summary", {}, title, count && element("span", { class: "muted" }, ` ${count}`));
  return element("details", { class: "fold" }, summary, element("div", { class: "fold-body" }, ...children));
}

/**
 * A table of rows, cut where they are many.
 * @param {string} caption
 * @param {string[]} columns
 * @param {(Node | string | number | null | false)[][]} rows
 * @param {number} [total] of which these are some
 * @returns {HTMLElement}
 */
export function answerTable(caption, columns, rows, total = rows.length) {
  const shown = rows.slice(0, ACCOUNT_ROWS);
  const head = element("tr", {}, ...columns.map((one) => element("th", { scope: "col" }, one)));
  const body = shown.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell))));
  const drawnTable = element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
  const scrolled = element(
    "div",
    { class: "scrolled", tabindex: 0, role: "region", "aria-label": caption },
    drawnTable,
  );
  const left = total - shown.length;
  return element(
    "div",
    { class: "rows" },
    scrolled,
    left > 0 && remark(`${counted(left, "more row", "more rows")} not shown.`),
  );
}

/**
 * An account of values as they come, for what has no form of its own.
 * @param {unknown} value
 * @param {number} [depth]
 * @returns {Node | string | null}
 */
export function answerAccount(value, depth = 0) {
  if (value === null || value === undefined || value === "") return null;
  if (typeof value === "number") return number(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "object") return name(String(value), ACCOUNT_TEXT);
  if (depth >= ACCOUNT_DEPTH) return cut(JSON.stringify(value), ACCOUNT_TEXT);
  if (!Array.isArray(value)) {
    const entries = Object.entries(value).filter(([, one]) => !accountEmpty(one));
    return entries.length
      ? facts(entries.map(([key, one]) => [spoken(key), answerAccount(one, depth + 1)]))
      : null;
  }
  if (value.every((one) => typeof one === "object" && one !== null && !Array.isArray(one)))
    return accountTable(value, depth);
  const told = value.slice(0, ACCOUNT_ROWS).map((one) => element("li", {}, answerAccount(one, depth + 1)));
  const left = value.length - told.length;
  return element(
    "ul",
    { class: "plain" },
    ...told,
    left > 0 && element("li", { class: "muted" }, `${number(left)} more`),
  );
}

/**
 * @param {Record<string, unknown>[]} rows
 * @param {number} depth
 */
function accountTable(rows, depth) {
  const columns = [...new Set(rows.slice(0, ACCOUNT_ROWS).flatMap((one) => Object.keys(one)))].filter((key) =>
    rows.some((one) => !accountEmpty(one[key])),
  );
  const cells = rows
    .slice(0, ACCOUNT_ROWS)
    .map((one) => columns.map((key) => answerAccount(one[key], depth + 1)));
  return answerTable("Rows", columns.map(spoken), cells, rows.length);
}

/** @param {unknown} value */
function accountEmpty(value) {
  return value === null || value === undefined || value === "" || (Array.isArray(value) && !value.length);
}
