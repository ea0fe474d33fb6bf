// @ts-check
import { element, fill } from "./dom.js";

const HOVER_SHOW_MS = 120;
const HOVER_HIDE_MS = 250;
const HOVER_GAP = 6;

/**
 * A card that is shown beside what is pointed at or has the focus.
 * @typedef {object} HoverCard
 * @property {HTMLElement} node
 * @property {(anchor: HTMLElement, content: () => Node[]) => void} attach have it shown beside an element
 */

/**
 * Make the card of a page. It stays while the pointer is on it, and goes with Escape.
 * @param {AbortSignal} signal
 * @returns {HoverCard}
 */
export function hoverCard(signal) {
  const card = element("div", { class: "hover-card", id: "hover-card", role: "tooltip", hidden: true });
  /** @type {HTMLElement | null} */
  let shownAt = null;
  let timer = 0;
  const later = (/** @type {() => void} */ act, /** @type {number} */ wait) => {
    clearTimeout(timer);
    timer = setTimeout(act, wait);
  };
  const hide = () => {
    clearTimeout(timer);
    card.hidden = true;
    shownAt?.removeAttribute("aria-describedby");
    shownAt = null;
  };
  const show = (/** @type {HTMLElement} */ anchor, /** @type {() => Node[]} */ content) => {
    hide();
    fill(card, ...content());
    card.hidden = false;
    anchor.setAttribute("aria-describedby", card.id);
    shownAt = anchor;
    placeCard(card, anchor);
  };
  card.addEventListener("pointerenter", () => clearTimeout(timer));
  card.addEventListener("pointerleave", () => later(hide, HOVER_HIDE_MS));
  addEventListener("keydown", (event) => event.key === "Escape" && hide(), { signal });
  addEventListener("scroll", hide, { signal, passive: true, capture: true });
  signal.addEventListener("abort", hide);
  const attach = (/** @type {HTMLElement} */ anchor, /** @type {() => Node[]} */ content) => {
    anchor.addEventListener("pointerenter", (event) => {
      if (event.pointerType === "mouse") later(() => show(anchor, content), HOVER_SHOW_MS);
    });
    anchor.addEventListener("pointerleave", () => later(hide, HOVER_HIDE_MS));
    anchor.addEventListener("focus", () => anchor.matches(":focus-visible") && show(anchor, content));
    anchor.addEventListener("blur", hide);
  };
  return { node: card, attach };
}

/**
 * @param {HTMLElement} card
 * @param {HTMLElement} anchor
 */
function placeCard(card, anchor) {
  const at = anchor.getClientRects()[0] ?? anchor.getBoundingClientRect();
  const { width, height } = card.getBoundingClientRect();
  const left = Math.max(
    HOVER_GAP,
    Math.min(at.left, document.documentElement.clientWidth - width - HOVER_GAP),
  );
  const below = at.bottom + HOVER_GAP;
  const top = below + height <= innerHeight ? below : Math.max(HOVER_GAP, at.top - height - HOVER_GAP);
  card.style.left = `${left}px`;
  card.style.top = `${top}px`;
}
