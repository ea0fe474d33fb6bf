// @ts-check
import { addressOf } from "./addresses.js";
import { fill, link } from "./dom.js";
import { message } from "./messages.js";
import { SourceError } from "./source.js";
import { titled } from "./view.js";

/**
 * What is loaded; null where it has gone since, which is then said in its place.
 * @template T
 * @param {import("./view.js").View} view
 * @param {string} what entity, community, document or table
 * @param {Promise<T>} loading
 * @returns {Promise<T | null>}
 */
export async function orGone(view, what, loading) {
  try {
    return await loading;
  } catch (error) {
    if (!(error instanceof SourceError) || error.kind !== `${what}_not_found`) throw error;
    if (view.signal.aborted) return null;
    const { corpus } = view.place;
    titled(`No such ${what}`, view);
    fill(
      view.main,
      message(
        `This ${what} is not in the current snapshot`,
        "It may have been removed when the corpus was indexed again, or have another name now.",
        link(addressOf(corpus, "find"), "Search for it"),
        link(addressOf(corpus, "changes"), "See what changed"),
        link(addressOf(corpus), "Go to the map"),
      ),
    );
    return null;
  }
}
