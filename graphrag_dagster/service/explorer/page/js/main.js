// @ts-check

import { showAsk } from "./ask/ask_page.js";
import { addressOf, placeOf } from "./base/addresses.js";
import { fill } from "./base/dom.js";
import { failure, loading } from "./base/messages.js";
import { corpusPath, SourceError, serverSource } from "./base/source.js";
import { showCommunity } from "./browse/community_page.js";
import { showEntity } from "./browse/entity_page.js";
import { showFound } from "./browse/find_page.js";
import { showCorpora } from "./corpora/corpora_page.js";
import { showChanges } from "./documents/changes_page.js";
import { showDocument } from "./documents/document_page.js";
import { fileSource } from "./embedded/embedded.js";
import { showMap } from "./map/map_page.js";
import { watchPublications } from "./shell/living.js";
import { showLogin } from "./shell/login.js";
import { drawShell, useTheme } from "./shell/shell.js";
import { showTables } from "./tables/tables_page.js";

/** @type {Record<string, (view: import("./base/view.js").View) => Promise<void>>} */
const PAGES = {
  map: showMap,
  ask: showAsk,
  entity: showEntity,
  community: showCommunity,
  document: showDocument,
  tables: showTables,
  find: showFound,
  changes: showChanges,
};

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const source = fileSource() ?? serverSource();

/** @type {import("./api.d.ts").CorpusList | null} */
let listing = null;
/** @type {import("./api.d.ts").Overview | null} */
let overview = null;
let shownAddress = "";
let leaving = new AbortController();

/** Show what the address says. */
async function show() {
  const place = placeOf(location.hash);
  shownAddress = location.hash;
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  delete main.dataset.shown;
  document.title = "Explorer";
  try {
    // What the first page says of each corpus may have changed since.
    if (!listing?.corpora.length || !place.corpus) {
      /** @type {import("./api.d.ts").CorpusList} */
      const found = await source.get("/corpora");
      listing = found;
    }
    if (signal.aborted) return;
    const { corpora } = listing;
    if (!place.corpus && !source.live && corpora[0]) {
      // A file holds one corpus and answers no questions.
      // Meanwhile somebody may have gone to an address, of which the event is still to come.
      if (!placeOf(location.hash).corpus) location.replace(addressOf(corpora[0].name));
      return;
    }
    drawShell(place, corpora, source.live);
    if (!place.corpus) {
      overview = null;
      return await showCorpora(main, source, listing, afresh);
    }
    if (overview?.corpus !== place.corpus) {
      overview = null;
      fill(main, loading(place.corpus));
      overview = await source.get(corpusPath(place.corpus, "overview"));
    }
    if (signal.aborted || !overview) return;
    const page = PAGES[place.page];
    if (!page) throw new SourceError("page_not_found", `There is no page ${place.page}.`);
    main.className = `page-${place.page}`;
    await page({ place, source, overview, main, signal });
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof SourceError && error.kind === "unauthorized") return showLogin(main, afresh);
    fill(main, failure(error, place.corpus, afresh));
  } finally {
    if (!signal.aborted) main.dataset.shown = place.corpus ? place.page : "corpora";
  }
}

/** Forget what was loaded, and show it anew. */
function afresh() {
  listing = null;
  overview = null;
  show();
}

document.querySelector("a.skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", async () => {
  // Of two changes in a row, the first event finds the last address: drawn twice, it would lose what is being typed.
  if (location.hash === shownAddress) return;
  // Who goes back is to be where they were; who goes on begins at the top.
  const height = Number(history.state?.height ?? 0);
  const before = main.querySelector("h1")?.textContent;
  await show();
  if (main.querySelector("h1")?.textContent === before || main.contains(document.activeElement)) return;
  scrollTo(0, height);
  // Who types in the search field already goes on typing.
  if (document.activeElement === document.body) main.focus({ preventScroll: true });
});
addEventListener("scrollend", () => {
  if (main.dataset.shown) history.replaceState({ height: scrollY }, "");
});
history.scrollRestoration = "manual";
useTheme();
watchPublications(
  source,
  () => ({ corpus: overview?.corpus ?? "", version: overview?.version ?? null }),
  afresh,
);
show();
