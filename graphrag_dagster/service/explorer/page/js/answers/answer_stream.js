// @ts-check
import { element, fill } from "../base/dom.js";
import { markdown } from "../markdown/markdown.js";

/**
 * A text that comes bit by bit. What is whole is added once, where it is also read out; the rest is drawn anew.
 * @typedef {object} StreamView
 * @property {HTMLElement} node
 * @property {(text: string) => void} show the text so far
 */

/**
 * @returns {StreamView}
 */
export function streamView() {
  const whole = element("div", { "aria-live": "polite", class: "whole" });
  const open = element("div", { class: "open" });
  let shown = 0;
  let wanted = "";
  let waiting = false;
  const draw = () => {
    waiting = false;
    const ended = wholeUntil(wanted);
    if (ended > shown) {
      whole.append(...markdown(wanted.slice(shown, ended), streamedMark));
      shown = ended;
    }
    fill(open, ...markdown(wanted.slice(shown), streamedMark));
  };
  return {
    node: element("div", { class: "said streaming" }, whole, open),
    show(text) {
      wanted = text;
      if (!waiting) requestAnimationFrame(draw);
      waiting = true;
    },
  };
}

/**
 * Where the last block that is whole ends: at a blank line outside of code.
 * @param {string} text
 * @returns {number}
 */
function wholeUntil(text) {
  let at = text.lastIndexOf("\n\n");
  while (at > 0 && (text.slice(0, at).match(/^ {0,3}(?:```|~~~)/gm)?.length ?? 0) % 2)
    at = text.lastIndexOf("\n\n", at - 1);
  return at > 0 ? at + 2 : 0;
}

/**
 * A citation as a model writes it, which is not checked yet.
 * @param {string} label
 * @returns {Node | null}
 */
export function streamedMark(label) {
  return /^Data: /.test(label) ? element("span", { class: "cite unchecked", title: label }, "[…]") : null;
}
