// @ts-check

/** @typedef {Node | string | number | null | undefined | false} Child */

const FORBIDDEN = /^(on|style$|srcdoc$|formaction$)/i;
const LONGEST_NAME = 120;

/**
 * Make an element. Texts become text nodes, so that nothing of a corpus is ever read as markup.
 * @param {string} tag
 * @param {Record<string, string | number | boolean | null | undefined>} [attributes] false, null and undefined are left out
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  setAttributes(made, attributes);
  append(made, children);
  return made;
}

/**
 * Put children in place of what is in a node.
 * @param {Element} node
 * @param {...(Child | Child[])} children
 */
export function fill(node, ...children) {
  node.replaceChildren();
  append(node, children);
}

/**
 * A button that does something.
 * @param {string | Child[]} label
 * @param {(event: Event) => void} act
 * @param {Record<string, string | number | boolean | null | undefined>} [attributes]
 * @returns {HTMLButtonElement}
 */
export function button(label, act, attributes = {}) {
  const made = /** @type {HTMLButtonElement} */ (
    element("button", { type: "button", ...attributes }, ...[label].flat())
  );
  made.addEventListener("click", act);
  return made;
}

/**
 * A link to an address of this page, as `addressOf` writes it.
 * @param {string} address
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function link(address, ...children) {
  if (!address.startsWith("#/")) throw new Error(`${address} is no address of this page`);
  return element("a", { href: address }, ...children);
}

/**
 * A name of the corpus: kept apart from the direction of what is around it, and cut where it is very long.
 * @param {string | null | undefined} text
 * @param {number} [longest] in characters
 * @returns {HTMLElement}
 */
export function name(text, longest = LONGEST_NAME) {
  const whole = (text ?? "").trim() || "(no name)";
  const shown = cut(whole, longest);
  return element("bdi", shown === whole ? {} : { title: cut(whole, 2000) }, shown);
}

/**
 * The beginning of a text, with an ellipsis where that is not all of it. Never splits a character.
 * @param {string} text
 * @param {number} longest in UTF-16 units
 * @returns {string}
 */
export function cut(text, longest) {
  if (text.length <= longest) return text;
  let end = longest - 1;
  const last = text.charCodeAt(end - 1);
  if (last >= 0xd800 && last <= 0xdbff) end -= 1;
  return `${text.slice(0, end)}…`;
}

/**
 * @param {Element} node
 * @param {Record<string, string | number | boolean | null | undefined>} attributes
 */
function setAttributes(node, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (FORBIDDEN.test(key)) throw new Error(`the attribute ${key} is not used on this page`);
    if (value === false || value === null || value === undefined) continue;
    node.setAttribute(key, value === true ? "" : String(value));
  }
}

/**
 * @param {Element} node
 * @param {(Child | Child[])[]} children
 */
function append(node, children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    node.append(typeof child === "number" ? String(child) : child);
  }
}
