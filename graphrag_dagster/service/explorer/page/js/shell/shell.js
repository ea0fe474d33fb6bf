// @ts-check
import { addressOf } from "../base/addresses.js";
import { button, element, fill, link, name } from "../base/dom.js";

/** @typedef {import("../base/addresses.js").Place} Place */
/** @typedef {import("../api.d.ts").CorpusEntry} CorpusEntry */

const THEME = "graphrag_dagster.theme";
const BROWSED = new Set(["entity", "community", "document", "tables", "find", "changes"]);

/**
 * Draw what stands above every page: corpus, the three ways in, search, light or dark.
 * @param {Place} place
 * @param {CorpusEntry[]} corpora
 * @param {boolean} asks whether questions can be asked here
 */
export function drawShell(place, corpora, asks) {
  const top = /** @type {HTMLElement} */ (document.getElementById("top"));
  const brand = link(place.corpus && !asks ? addressOf(place.corpus) : "#/", "Explorer");
  brand.classList.add("brand");
  if (asks) brand.title = "All corpora";
  const parts = [brand, corpusChooser(place, corpora)];
  if (place.corpus) parts.push(ways(place, asks), searchForm(place));
  parts.push(themeButton());
  fill(top, ...parts);
}

/**
 * Use the theme that was chosen before, if any.
 */
export function useTheme() {
  const chosen = kept(THEME);
  if (chosen) document.documentElement.dataset.theme = chosen;
}

/**
 * What was kept in this browser; null where it keeps nothing.
 * @param {string} key
 * @returns {string | null}
 */
export function kept(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/**
 * Keep a text in this browser, if it lets us.
 * @param {string} key
 * @param {string} value
 */
export function keep(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // A browser that keeps nothing forgets it with the page.
  }
}

/**
 * @param {Place} place
 * @param {CorpusEntry[]} corpora
 * @returns {HTMLElement}
 */
function corpusChooser(place, corpora) {
  if (corpora.length < 2) return element("span", { class: "corpus" }, place.corpus && name(place.corpus, 40));
  const chooser = /** @type {HTMLSelectElement} */ (
    element(
      "select",
      { class: "corpus", "aria-label": "Corpus" },
      !place.corpus && element("option", { value: "" }, "Choose a corpus"),
      corpora.map((one) =>
        element("option", { value: one.name, selected: one.name === place.corpus }, one.name),
      ),
    )
  );
  chooser.addEventListener("change", () => {
    location.hash = addressOf(chooser.value, place.page === "ask" ? "ask" : "map");
  });
  return chooser;
}

/**
 * @param {Place} place
 * @param {boolean} asks
 * @returns {HTMLElement}
 */
function ways(place, asks) {
  const here = BROWSED.has(place.page) ? "tables" : place.page;
  const all = [["map", "Map"], ...(asks ? [["ask", "Ask"]] : []), ["tables", "Browse"]];
  return element(
    "nav",
    { "aria-label": "Main" },
    ...all.map(([page = "", label = ""]) => {
      const way = link(addressOf(place.corpus, page), label);
      if (page === here) way.setAttribute("aria-current", "page");
      return way;
    }),
  );
}

/**
 * @param {Place} place
 * @returns {HTMLElement}
 */
function searchForm(place) {
  const field = /** @type {HTMLInputElement} */ (
    element("input", {
      type: "search",
      name: "query",
      placeholder: "Search names and texts",
      "aria-label": "Search names and texts",
      value: place.page === "find" ? place.query.get("query") : null,
    })
  );
  const form = element("form", { role: "search" }, field);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value.trim())
      location.hash = addressOf(place.corpus, "find", "", { query: field.value.trim() });
  });
  return form;
}

/**
 * @returns {HTMLElement}
 */
function themeButton() {
  const dark = () =>
    (document.documentElement.dataset.theme ??
      (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const made = button(dark() ? "Light" : "Dark", () => {
    const next = dark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    keep(THEME, next);
    made.textContent = next === "dark" ? "Light" : "Dark";
    dispatchEvent(new Event("themechange"));
  });
  made.classList.add("theme", "quiet");
  made.title = "Change between light and dark";
  return made;
}
