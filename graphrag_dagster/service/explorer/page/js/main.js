// @ts-check

import { showAsk } from "./ask/ask_page.js";
import { addressOf, placeOf } from "./base/addresses.js";
import { element, fill, link, name } from "./base/dom.js";
import { failure, loading, message } from "./base/messages.js";
import { corpusPath, SourceError, serverSource } from "./base/source.js";
import { showCommunity } from "./browse/community_page.js";
import { showEntity } from "./browse/entity_page.js";
import { showFound } from "./browse/find_page.js";
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

/** @type {import("./shell/shell.js").CorpusEntry[]} */
let corpora = [];
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
    if (!corpora.length) corpora = (await source.get("/corpora")).corpora;
    if (signal.aborted) return;
    if (!place.corpus && corpora.length === 1 && corpora[0]) {
      // Meanwhile somebody may have gone to an address, of which the event is still to come.
      if (!placeOf(location.hash).corpus) location.replace(addressOf(corpora[0].name));
      return;
    }
    drawShell(place, corpora, source.live);
    if (!place.corpus) return showCorpora();
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
    if (!signal.aborted) main.dataset.shown = place.page;
  }
}

/** Forget what was loaded, and show it anew. */
function afresh() {
  corpora = [];
  overview = null;
  show();
}

/** List the corpora, where there are several or none. */
function showCorpora() {
  if (!corpora.length) {
    const how = "Create one from a folder of documents: graphrag-dagster index PATH";
    return fill(main, message("There are no corpora yet", how));
  }
  const listed = corpora.map((one) => element("li", {}, link(addressOf(one.name), name(one.name))));
  fill(main, element("h1", {}, "Corpora"), element("ul", { class: "corpora" }, ...listed));
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
