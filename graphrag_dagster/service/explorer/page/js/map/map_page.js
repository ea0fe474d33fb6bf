// @ts-check
import { addressOf } from "../base/addresses.js";
import { button, cut, element, fill, link } from "../base/dom.js";
import { message, remark } from "../base/messages.js";
import { SourceError } from "../base/source.js";
import { titled } from "../base/view.js";
import { counted, number } from "../base/wording.js";
import { graphPanel } from "../graph/graph_view.js";
import { fillCommunityCard, ratingLegend } from "./community_card.js";
import { communityList } from "./community_list.js";
import { mapBar, measureChooser } from "./map_bar.js";
import { mapBefore, refocus } from "./map_focus.js";
import { communitiesOf, drawnOf, mapState, zoomAddress } from "./map_state.js";
import { mostConnected } from "./most_connected.js";
import { treemap } from "./treemap_view.js";

/** @typedef {import("../base/view.js").View} View */
/** @typedef {import("./map_state.js").MapState} MapState */
/** @typedef {import("../api.d.ts").Cell} Cell */
/** @typedef {import("../api.d.ts").CommunityCells} CommunityCells */

/**
 * Show the communities of a corpus, and its graph.
 * @param {View} view
 */
export async function showMap(view) {
  titled("Map", view);
  if (!view.overview.counts.entities) return fill(view.main, nothingFound(view));
  const state = mapState(view.place);
  const found = await communitiesOf(view, state);
  if (view.signal.aborted) return;
  if (found.within) titled(cut(found.within.title, 60), view);
  const graph = graphPanel();
  const most = element("div", { class: "map-most" });
  const listed = element(
    "section",
    { class: "map-connected", "aria-labelledby": "most-connected" },
    element("h2", { id: "most-connected", tabindex: -1 }, "Most connected"),
    most,
  );
  const communities = communitiesPanel(view, state, found);
  const parts = [communities.section, graph.section, listed];
  const stage = element(
    "div",
    { class: "map-stage", "data-shown": state.shown, "data-within": state.within },
    ...parts,
  );
  const before = mapBefore(view.main);
  fill(view.main, mapHead(view), mapBar(view, state, found), stage);
  communities.lay();
  refocus(view.main, before, found);
  drawLater(view, state, graph, most);
}

/**
 * Fetch and draw the graph, once what was shown first stands on the screen.
 * @param {View} view
 * @param {MapState} state
 * @param {ReturnType<typeof graphPanel>} graph
 * @param {HTMLElement} most
 */
async function drawLater(view, state, graph, most) {
  try {
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    if (view.signal.aborted) return;
    const drawn = await drawnOf(view, state);
    if (view.signal.aborted) return;
    fill(most, mostConnected(view, drawn));
    await graph.show(view, drawn);
  } catch (error) {
    if (view.signal.aborted) return;
    if (!(error instanceof SourceError)) console.error(error);
    const text = error instanceof Error ? error.message : String(error);
    graph.fail(`The graph cannot be shown. ${text}`);
    if (!most.hasChildNodes()) fill(most, remark("The list could not be loaded."));
  }
}

/**
 * @param {View} view
 * @returns {HTMLElement}
 */
function mapHead(view) {
  const { counts } = view.overview;
  const told = [
    counted(counts.documents, "document"),
    counted(counts.entities, "entity", "entities"),
    counted(counts.relationships, "relationship"),
    counted(counts.communities, "community", "communities"),
  ].join(" · ");
  const most = button("Who is most connected?", () => {
    const heading = document.getElementById("most-connected");
    heading?.scrollIntoView({ block: "start" });
    heading?.focus({ preventScroll: true });
  });
  most.classList.add("map-who");
  return element(
    "div",
    { class: "map-head" },
    element("h1", {}, "Map"),
    element("p", { class: "muted" }, told),
    most,
  );
}

/**
 * @param {View} view
 * @param {MapState} state
 * @param {CommunityCells} found
 * @returns {{section: HTMLElement, lay: () => void}}
 */
function communitiesPanel(view, state, found) {
  const sized = found.cells.length > 0 && measureChooser(view, state);
  const heading = element("div", { class: "map-panel-head" }, element("h2", {}, "Communities"), sized);
  const section = element("section", { class: "map-communities", "aria-label": "Communities" }, heading);
  let lay = () => {};
  if (found.cells.some((cell) => cell.value > 0)) {
    const card = element("div", { class: "map-card" });
    const point = (/** @type {Cell} */ cell) => fillCommunityCard(card, view, state, cell);
    const told = found.within ?? found.cells[0];
    if (told) point(told);
    const up = () => {
      if (found.within) location.hash = zoomAddress(view, found.within.parent_id);
    };
    const map = treemap(view, state, found, point, up);
    lay = map.lay;
    section.append(map.frame, ratingLegend(found.cells), card, communityList(view, state, found));
  } else section.append(noCommunities(view, state, found));
  if (!found.within) section.append(outsideTold(view) ?? "");
  return { section, lay };
}

/**
 * What stands where there are no communities to draw.
 * @param {View} view
 * @param {MapState} state
 * @param {CommunityCells} found
 * @returns {HTMLElement}
 */
function noCommunities(view, state, found) {
  const shown = element("div", { class: "map-none" });
  if (found.within) {
    fillCommunityCard(shown, view, state, found.within);
    shown.append(remark("It has no parts of its own; its members are in the graph."));
  } else if (found.cells.length) {
    shown.append(
      remark(`No text unit mentions them, so they have no ${state.measure}. Size them by members.`),
    );
  } else {
    shown.append(
      remark("There are no communities, because no two entities are related. The graph shows the entities."),
    );
  }
  return shown;
}

/**
 * @param {View} view
 * @returns {HTMLElement | null}
 */
function outsideTold(view) {
  const { unclustered } = view.overview;
  if (!unclustered) return null;
  const told = unclustered === 1 ? "1 entity has" : `${number(unclustered)} entities have`;
  return remark(`${told} no relationships, and so no community.`);
}

/**
 * @param {View} view
 * @returns {HTMLElement}
 */
function nothingFound(view) {
  const { counts, notes } = view.overview;
  const text = `No entity was found in ${counted(counts.documents, "document")}, so there is nothing to draw.`;
  const shown = message("There is nothing on the map yet", text);
  if (notes.length) shown.append(element("ul", {}, ...notes.map((note) => element("li", {}, note))));
  const documents = link(addressOf(view.place.corpus, "tables", "documents"), "See the documents");
  shown.append(element("p", { class: "ways" }, documents));
  return shown;
}
