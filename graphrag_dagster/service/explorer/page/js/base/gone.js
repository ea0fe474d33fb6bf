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
        `This ${what} is not in the corpus as it is now`,
        "It may have gone when the corpus was published anew. It may be there under another name.",
        link(addressOf(corpus, "find"), "Search for it"),
        link(addressOf(corpus, "changes"), "See what changed"),
        link(addressOf(corpus), "To the map"),
      ),
    );
    return null;
  }
}
