// @ts-check
import { addressOf } from "../base/addresses.js";
import { element, link, name } from "../base/dom.js";
import { section } from "../base/parts.js";
import { moment, number } from "../base/wording.js";

/** @typedef {import("../base/view.js").View} View */
/** @typedef {import("../api.d.ts").Changes} Changes */
/** @typedef {import("../api.d.ts").Differences} Differences */

/** @type {["entities" | "communities" | "reports" | "documents", string, string][]} what is compared, its name and its page */
const SORTS = [
  ["entities", "Entities", "entity"],
  ["communities", "Communities", "community"],
  ["reports", "Reports", "community"],
  ["documents", "Documents", "document"],
];

const NOT_LISTED = "Their names are not kept: nothing remains of documents that were edited or removed.";

/**
 * What was added, removed and changed between two snapshots.
 * @param {View} view
 * @param {Changes} changes
 * @returns {HTMLElement}
 */
export function changesView(view, changes) {
  const { before, after, relationships } = changes;
  const counts = [...SORTS.map(([key]) => changes[key]), relationships];
  const same = counts.every((one) => one.came_total + one.went_total + one.changed_total === 0);
  const between = `Between ${moment(before.published)} and ${moment(after.published)}`;
  if (same)
    return element(
      "p",
      { class: "lead" },
      before.version === after.version
        ? "Both are the same snapshot: choose two."
        : `${between} nothing changed.`,
    );
  const lists = SORTS.map(([key, title, page]) =>
    section(title, ...differenceLists(view, changes[key], page, before.current, after.current)),
  );
  return element("div", {}, element("p", { class: "lead" }, `${between}:`), changeTable(changes), ...lists);
}

/**
 * @param {Changes} changes
 * @returns {HTMLElement}
 */
function changeTable(changes) {
  const rows = [
    ...SORTS.map(([key, title]) => ({ title, of: changes[key] })),
    { title: "Relationships", of: changes.relationships },
  ];
  const heads = ["added", "removed", "changed"];
  return element(
    "table",
    { class: "change-counts" },
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        element("td", {}),
        ...heads.map((one) => element("th", { scope: "col", class: "number" }, one)),
      ),
    ),
    element(
      "tbody",
      {},
      ...rows.map(({ title, of }) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, title),
          ...[of.came_total, of.went_total, of.changed_total].map((count) =>
            element("td", { class: "number" }, number(count)),
          ),
        ),
      ),
    ),
  );
}

/**
 * @param {View} view
 * @param {Differences} found
 * @param {string} page
 * @param {boolean} beforeIsShown whether what is in the older has a page
 * @param {boolean} afterIsShown whether what is in the newer has one
 * @returns {HTMLElement[]}
 */
function differenceLists(view, found, page, beforeIsShown, afterIsShown) {
  /** @type {[string, string, Differences["came"], number, boolean][]} */
  const lists = [
    ["added", "+", found.came, found.came_total, afterIsShown],
    ["removed", "−", found.went, found.went_total, beforeIsShown],
    [
      "changed",
      "~",
      found.changed,
      found.changed_total,
      afterIsShown || (beforeIsShown && page !== "document"),
    ],
  ];
  const drawn = lists.flatMap(([what, sign, items, total, linked]) => {
    if (!total) return [];
    const rows = items.map((one) =>
      element(
        "li",
        {},
        linked ? link(addressOf(view.place.corpus, page, one.id), name(one.title)) : name(one.title),
        one.what.length > 0 &&
          element("span", { class: "muted" }, " ", element("bdi", {}, one.what.join(", "))),
      ),
    );
    return [
      element(
        "details",
        { class: `difference ${what}`, open: total <= 12 },
        element(
          "summary",
          {},
          element("span", { class: "sign", "aria-hidden": "true" }, sign),
          ` ${number(total)} ${what}`,
        ),
        element("ul", {}, ...rows),
        total > items.length &&
          element(
            "p",
            { class: "remark" },
            items.length ? `The first ${number(items.length)} are listed.` : NOT_LISTED,
          ),
      ),
    ];
  });
  return drawn.length ? drawn : [element("p", { class: "remark" }, "Nothing was added, removed or changed.")];
}
