// @ts-check

/** Seven colours of Okabe and Ito, which people tell apart however they see colours; then grey. */
const COMMUNITY_COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];
const OTHER_COLOUR = "#8d939c";
const RATING_STEPS = 5;
const HIGHEST_RATING = 10;

/** How many communities have a colour of their own. */
export const COLOURED = COMMUNITY_COLOURS.length;

/**
 * @param {number | null} community place among those of a drawing, the largest first
 * @returns {string}
 */
export function communityColour(community) {
  return (community === null ? null : COMMUNITY_COLOURS[community]) ?? OTHER_COLOUR;
}

/**
 * The step of the scale of ratings.
 * @param {number | null} rating 0–10
 * @returns {number} 1 to 5; 0 where there is no rating
 */
export function ratingStep(rating) {
  if (rating === null) return 0;
  const step = Math.floor((rating / HIGHEST_RATING) * RATING_STEPS) + 1;
  return Math.min(Math.max(step, 1), RATING_STEPS);
}

/**
 * The steps of the scale, each with the ratings that it stands for.
 * @returns {{step: number, from: number, to: number}[]}
 */
export function ratingScale() {
  const width = HIGHEST_RATING / RATING_STEPS;
  return Array.from({ length: RATING_STEPS }, (_, place) => ({
    step: place + 1,
    from: place * width,
    to: (place + 1) * width,
  }));
}

/**
 * Colours that a canvas is drawn with, as the stylesheet gives them to the element that holds it.
 * @param {HTMLElement} holder
 * @returns {{text: string, ground: string, edge: string, faded: string, rim: string}}
 */
export function canvasColours(holder) {
  const style = getComputedStyle(holder);
  return {
    text: style.color,
    ground: style.backgroundColor,
    edge: style.columnRuleColor,
    faded: style.textDecorationColor,
    rim: style.caretColor,
  };
}

/**
 * Act whenever light becomes dark, or dark light.
 * @param {() => void} act
 * @param {AbortSignal} signal
 */
export function onThemeChange(act, signal) {
  addEventListener("themechange", act, { signal });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", act, { signal });
}

/**
 * @returns {boolean} whether the person wants little to move
 */
export function calm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
