// @ts-check

import { SourceError, withQuery } from "../base/source.js";
import { tablePageOf } from "./embedded_tables.js";
import { foundIn, textOf } from "./embedded_texts.js";

/** What is asked for where nothing else is said, so that one address stands for both. */
const USUAL = new Map([
  ["measure", "members"],
  ["most", "2000"],
  ["offset", "0"],
  ["descending", "false"],
]);
const MISSING = "It was left out of this file. Open the explorer on the corpus itself to see it.";

/**
 * The file that the page was sent in, where it was: answers of the server, by address, packed.
 * @returns {import("../base/source.js").Source | null}
 */
export function fileSource() {
  const held = document.getElementById("data");
  if (!held) return null;
  const { told, packed } = JSON.parse(held.textContent ?? "");
  const unpacked = unpack(packed);
  return {
    live: false,
    told,
    address: () => "",
    get: async (path, query = {}) => structuredClone(answerOf(await unpacked, path, query)),
    // biome-ignore lint/correctness/useYield: a file answers no questions, which whoever listens is told.
    async *stream() {
      throw new SourceError(
        "not_in_file",
        "Questions need a server. Start one with: graphrag-dagster explore",
      );
    },
  };
}

/**
 * @param {Record<string, any>} answers by address
 * @param {string} path
 * @param {import("../base/source.js").Query} query
 * @returns {any}
 */
function answerOf(answers, path, query) {
  const [, , corpus = "", kind, , more] = path.split("/");
  if (kind === "find") return foundIn(answers, corpus, String(query.query ?? ""), Number(query.limit ?? 20));
  const asked = Object.entries(query).filter(([key, value]) => USUAL.get(key) !== String(value));
  const whole =
    answers[withQuery(path, more === "text" || kind === "tables" ? {} : Object.fromEntries(asked))];
  if (whole === undefined) throw new SourceError("not_in_file", MISSING);
  if (more === "text") return textOf(whole, String(query.cited ?? ""));
  if (kind === "tables" && path.split("/").length > 4) return tablePageOf(whole, query);
  return whole;
}

/**
 * @param {string} packed JSON, compressed by gzip, in base64
 * @returns {Promise<Record<string, any>>}
 */
async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}
