// @ts-check
import { cut, element, link } from "../base/dom.js";
import { corpusPath } from "../base/source.js";
import { askAddress } from "../shell/history.js";

/** @typedef {import("../base/view.js").View} View */

const EXAMPLE_NAME = 60;
const EXAMPLES_SHOWN = 6;

/**
 * Questions that this corpus may answer, made of its most connected entities and its largest communities.
 * @param {View} view
 * @returns {Promise<HTMLElement | null>}
 */
export async function examplesView(view) {
  const { corpus, default_method: method, methods } = view.overview;
  const [table, map] = await Promise.all([
    view.source.get(corpusPath(corpus, "tables", "entities"), { sort: "degree", descending: true, limit: 3 }),
    view.source.get(corpusPath(corpus, "communities")),
  ]).catch(() => [null, null]);
  if (!table) return null;
  const questions = [...ofEntities(table), ...ofReports(map), "What are the main themes?"].slice(
    0,
    EXAMPLES_SHOWN,
  );
  const asked = (/** @type {string} */ question) =>
    askAddress(corpus, { question, method: method ?? methods[0]?.name ?? "", level: null, compare: "" });
  const listed = questions.map((one) => element("li", {}, link(asked(one), element("bdi", {}, one))));
  return element(
    "section",
    { class: "examples" },
    element("h2", {}, "Example questions"),
    element("ul", {}, ...listed),
  );
}

/** @param {import("../api.d.ts").TablePage} table */
function ofEntities(table) {
  const place = (/** @type {string} */ column) => table.columns.findIndex((one) => one.name === column);
  const named = table.rows.map((row) => ({
    title: cut(String(row[place("title")] ?? ""), EXAMPLE_NAME),
    person: String(row[place("type")] ?? "").toUpperCase() === "PERSON" && isFullName(row[place("title")]),
  }));
  const [one, other, third] = named.filter(({ title }) => title);
  return [
    one && (one.person ? `Who is ${one.title}?` : `What is ${one.title}?`),
    one && other && `How are ${one.title} and ${other.title} connected?`,
    third && `How many documents mention ${third.title}?`,
  ].filter((question) => question !== undefined);
}

/**
 * Whether a name has several words: of single ones too many are called people that are none (Prometheus).
 * @param {unknown} title
 */
function isFullName(title) {
  return /\S\s+\S/u.test(String(title ?? ""));
}

/** @param {import("../api.d.ts").CommunityCells} map */
function ofReports(map) {
  return map.cells
    .filter((one) => one.title)
    .slice(0, 2)
    .map((one) => `What happened around ${cut(one.title, EXAMPLE_NAME)}?`);
}
