// @ts-check
import { addressOf } from "../base/addresses.js";
import { button, element, fill, link } from "../base/dom.js";

const EVERY_MS = 15_000;

/**
 * Look now and then whether another snapshot of the corpus was published, and say so.
 * @param {import("../base/source.js").Source} source
 * @param {() => {corpus: string, version: string | null}} shown
 * @param {() => void} reload
 */
export function watchPublications(source, shown, reload) {
  if (!source.live) return;
  const notice = /** @type {HTMLElement} */ (document.getElementById("notice"));
  setInterval(async () => {
    const { corpus, version } = shown();
    if (document.hidden || !corpus || !version) return;
    const listed = await source.get("/corpora").catch(() => null);
    const now = listed?.corpora.find((/** @type {{name: string}} */ one) => one.name === corpus)?.version;
    if (!now || now === version || shown().version !== version) return;
    const changes = link(addressOf(corpus, "changes", "", { before: version, after: now }), "What changed");
    const again = button("Show the new index", () => {
      fill(notice);
      reload();
    });
    fill(notice, element("p", {}, "This corpus has been indexed again. ", again, " ", changes));
  }, EVERY_MS);
}
