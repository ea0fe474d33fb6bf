// @ts-check

import { addressOf } from "./addresses.js";
import { button, element, link } from "./dom.js";
import { SourceError } from "./source.js";

/**
 * A calm message in place of what cannot be shown.
 * @param {string} title
 * @param {string} text
 * @param {...Node} ways out of it
 * @returns {HTMLElement}
 */
export function message(title, text, ...ways) {
  const shown = element("section", { class: "message" }, element("h1", {}, title), element("p", {}, text));
  if (ways.length) shown.append(element("p", { class: "ways" }, ...ways));
  return shown;
}

/**
 * A smaller one, within a page.
 * @param {string} text
 * @returns {HTMLElement}
 */
export function remark(text) {
  return element("p", { class: "remark" }, text);
}

/**
 * What stands in place of what is still on its way; it takes room, so that nothing jumps.
 * @param {string} what
 * @returns {HTMLElement}
 */
export function loading(what) {
  return element("p", { class: "loading" }, `Loading ${what}…`);
}

/**
 * What a person is told of an error.
 * @param {unknown} error
 * @param {string} corpus
 * @param {() => void} again
 * @returns {HTMLElement}
 */
export function failure(error, corpus, again) {
  const kind = error instanceof SourceError ? error.kind : "";
  const text = error instanceof Error ? error.message : String(error);
  if (!(error instanceof SourceError)) console.error(error);
  const retry = button("Try again", again, { class: "primary" });
  const home = link(addressOf(corpus), "Go to the map");
  if (kind === "unreachable") return message("Cannot reach the server", text, retry);
  if (kind === "corpus_not_ready") return message("Not indexed yet", text, retry);
  if (kind === "corpus_not_found") return message("Corpus not found", text, link("#/", "All corpora"));
  if (kind.endsWith("_not_found")) return message("Not in the current snapshot", text, home);
  if (kind === "not_in_file") return message("Not in this file", text, home);
  if (error instanceof SourceError) return message("This cannot be shown", text, retry, home);
  return message("This page has failed", "Reload it; the browser's console says more.", retry, home);
}
