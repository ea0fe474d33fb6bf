// @ts-check
import { addressWith } from "../base/addresses.js";
import { element, fill, link } from "../base/dom.js";
import { loading } from "../base/messages.js";
import { troubled } from "../base/parts.js";
import { corpusPath, SourceError } from "../base/source.js";
import { titled } from "../base/view.js";
import { counted, moment } from "../base/wording.js";
import { changesView } from "./changes_lists.js";

/** @typedef {import("../base/view.js").View} View */
/** @typedef {import("../api.d.ts").Changes} Changes */
/** @typedef {import("../api.d.ts").Snapshot} Snapshot */

const NOT_KEPT =
  "A snapshot with a document that has since been edited or removed is deleted, so that nothing of it remains.";

/**
 * Show what differs between two snapshots.
 * @param {View} view
 */
export async function showChanges(view) {
  const { place, source, main, signal } = view;
  titled("Changes", view);
  /** @type {Snapshot[]} */
  const snapshots = await source.get(corpusPath(place.corpus, "snapshots"));
  if (signal.aborted) return;
  const results = element("div", {});
  const after = place.query.get("after") ?? snapshots.find((one) => one.current)?.version ?? "";
  const at = snapshots.findIndex((one) => one.version === after);
  const before = place.query.get("before") ?? snapshots[at + 1]?.version ?? "";
  fill(
    main,
    element("h1", {}, "What changed"),
    element(
      "p",
      { class: "lead" },
      "Each time a corpus is indexed, the result is kept as a snapshot for a while. Compare two of them here.",
    ),
    snapshots.length > 1 && snapshotChooser(view, snapshots, before, after),
    results,
  );
  if (!source.live) return fill(results, element("p", {}, "This file holds only one snapshot."));
  fill(results, loading("what differs"));
  /** @type {Changes} */
  let changes;
  try {
    changes = await source.get(corpusPath(place.corpus, "changes"), {
      before: before || null,
      after: after || null,
    });
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof SourceError) || error.kind === "unauthorized") throw error;
    fill(results, changesTroubled(view, error));
    return;
  }
  if (!signal.aborted) fill(results, changesView(view, changes));
}

/**
 * @param {View} view
 * @param {SourceError} error
 * @returns {HTMLElement}
 */
function changesTroubled(view, error) {
  if (error.kind !== "snapshot_not_found") return troubled(error, () => showChanges(view));
  return element(
    "p",
    {},
    view.place.query.has("before")
      ? "One of these snapshots no longer exists, or there is no earlier one. "
      : "Only this snapshot is kept, so there is nothing to compare it with. ",
    `${NOT_KEPT} `,
    view.place.query.has("before") &&
      link(addressWith(view.place, { before: null, after: null }), "Compare the last two"),
  );
}

/**
 * @param {View} view
 * @param {Snapshot[]} snapshots
 * @param {string} before
 * @param {string} after
 * @returns {HTMLElement}
 */
function snapshotChooser(view, snapshots, before, after) {
  /** @param {string} label @param {string} chosen */
  const field = (label, chosen) => {
    const options = snapshots.map((one) =>
      element("option", { value: one.version, selected: one.version === chosen }, snapshotTold(one)),
    );
    return /** @type {HTMLSelectElement} */ (element("select", { "aria-label": label }, ...options));
  };
  const [older, newer] = [field("Before", before), field("After", after)];
  const form = element(
    "form",
    { class: "chooser" },
    element("label", {}, "Before ", older),
    element("label", {}, "After ", newer),
    element("button", { class: "primary" }, "Compare"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = addressWith(view.place, { before: older.value, after: newer.value });
  });
  return form;
}

/**
 * @param {Snapshot} one
 * @returns {string}
 */
function snapshotTold(one) {
  return `${moment(one.published)}${one.current ? ", the current one" : ""} (${counted(one.documents, "document")})`;
}
