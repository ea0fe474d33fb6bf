// @ts-check
import { element, fill } from "../base/dom.js";

/**
 * Ask for the token of the server; it is kept in a cookie that scripts cannot read.
 * @param {HTMLElement} main
 * @param {() => void} entered
 */
export function showLogin(main, entered) {
  const field = /** @type {HTMLInputElement} */ (
    element("input", { type: "password", id: "token", autocomplete: "current-password", required: true })
  );
  const told = element("p", { role: "alert", class: "problem" });
  const form = element(
    "form",
    { class: "login" },
    element("h1", {}, "This server needs a token"),
    element("p", {}, "It is the value of GRAPHRAG_DAGSTER_TOKEN on the server."),
    element("label", { for: "token" }, "Token"),
    field,
    element("button", { class: "primary" }, "Enter"),
    told,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    fill(told);
    const response = await fetch("/login", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token: field.value }),
    }).catch(() => null);
    if (response?.ok) return entered();
    fill(told, response ? "Wrong token." : "The server does not answer.");
    field.select();
  });
  fill(main, form);
  field.focus();
}
