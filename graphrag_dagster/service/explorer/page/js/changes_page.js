// @ts-check
import { element, fill } from "./dom.js";
import { titled } from "./view.js";

/**
 * Show the page.
 * @param {import("./view.js").View} view
 */
export async function showChanges(view) {
  titled("Changes", view);
  fill(view.main, element("h1", {}, "Changes"));
}
