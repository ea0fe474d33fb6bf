// @ts-check
import { button, element, fill } from "../base/dom.js";
import { counted, number } from "../base/wording.js";

/** @typedef {import("../shell/history.js").AskedBefore} AskedBefore */
/** @typedef {Omit<AskedBefore, "asked">} Asking */
/** @typedef {import("../api.d.ts").MethodChoice} MethodChoice */

const USUAL_QUESTION = 4000;
const LONGEST_QUESTION = 50_000;

/**
 * The form of a question: its words, the search method, the level, and a method to compare with.
 * @param {import("../base/view.js").View} view
 * @param {Asking} asking what it begins with
 * @param {(asking: Asking) => void} send
 * @returns {HTMLElement}
 */
export function askForm(view, asking, send) {
  const { methods, levels, default_level } = view.overview;
  const question = /** @type {HTMLTextAreaElement} */ (
    element("textarea", { id: "question", rows: 2, "aria-describedby": "question-told" })
  );
  question.value = asking.question;
  const method = methodChooser("method", methods, asking.method);
  const compare = methodChooser("compare", methods, asking.compare, "none");
  const level = chooser(
    "level",
    levels.map((one) => ({
      value: String(one.level),
      label: `C${one.level}: ${counted(one.communities, "community", "communities")}`,
    })),
    String(asking.level ?? default_level ?? ""),
  );
  const told = element("p", { id: "question-told", class: "told", role: "status" });
  const ofMethod = element("p", { class: "of-method muted" });
  const levelField = labelled("level", "Level", level);
  const follow = () => {
    const chosen = methods.find((one) => one.name === method.value);
    const levelled = methods.some((one) => one.levelled && [method.value, compare.value].includes(one.name));
    levelField.hidden = !levelled;
    level.disabled = !levelled;
    fill(ofMethod, chosen ? `${chosen.name}: ${chosen.text}` : "");
  };
  const submit = () => {
    const problem = problemOf(question.value);
    fill(told, problem);
    question.setAttribute("aria-invalid", String(problem !== ""));
    if (problem) return question.focus();
    send({
      question: question.value.trim(),
      method: method.value,
      level: level.disabled ? null : levelChosen(Number(level.value), default_level),
      compare: compare.value === method.value ? "" : compare.value,
    });
  };
  for (const one of [method, compare]) one.addEventListener("change", follow);
  question.addEventListener("input", () => fill(told, remarkOn(question.value)));
  question.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  });
  const form = element(
    "form",
    { class: "ask-form", "aria-label": "What to ask, and how" },
    element(
      "label",
      { for: "question" },
      "Question ",
      element("span", { class: "muted" }, "Enter sends, Shift+Enter starts a new line"),
    ),
    question,
    element(
      "div",
      { class: "choices" },
      labelled("method", "Method", method),
      levelField,
      labelled("compare", "Compare with", compare),
      button("Ask", submit, { class: "primary", type: "submit" }),
    ),
    ofMethod,
    told,
  );
  form.addEventListener("submit", (event) => event.preventDefault());
  follow();
  return form;
}

/**
 * @param {string} question
 * @returns {string} empty where there is none
 */
function problemOf(question) {
  if (!question.trim()) return "Enter a question.";
  if (question.length <= LONGEST_QUESTION) return "";
  return `The question is too long: ${number(question.length)} characters. The server accepts ${number(USUAL_QUESTION)} unless configured otherwise.`;
}

/** @param {string} question */
function remarkOn(question) {
  const length = [...question.slice(0, LONGEST_QUESTION)].length;
  if (length <= USUAL_QUESTION) return "";
  return `${number(length)} characters; the server accepts ${number(USUAL_QUESTION)} unless configured otherwise.`;
}

/**
 * @param {string} id
 * @param {string} label
 * @param {HTMLElement} field
 */
function labelled(id, label, field) {
  return element("div", { class: `field field-${id}` }, element("label", { for: id }, label), field);
}

/**
 * @param {string} id
 * @param {MethodChoice[]} methods
 * @param {string} chosen
 * @param {string} [nothing] label of no method
 */
function methodChooser(id, methods, chosen, nothing) {
  const option = (/** @type {MethodChoice} */ one) => ({
    value: one.name,
    label: `${one.name} – ${one.text}`,
  });
  const usual = methods.filter((one) => one.suits_chat).map(option);
  const others = methods.filter((one) => !one.suits_chat).map(option);
  const unknown =
    chosen && !methods.some((one) => one.name === chosen) ? [{ value: chosen, label: chosen }] : [];
  const first = nothing === undefined ? [] : [{ value: "", label: nothing }];
  return chooser(id, [...first, ...unknown, ...usual], chosen, others);
}

/**
 * @param {string} id
 * @param {{value: string, label: string}[]} options
 * @param {string} chosen
 * @param {{value: string, label: string}[]} [others] in a group of their own
 * @returns {HTMLSelectElement}
 */
function chooser(id, options, chosen, others = []) {
  const option = (/** @type {{value: string, label: string}} */ one) =>
    element("option", { value: one.value, selected: one.value === chosen }, one.label);
  const group = element("optgroup", { label: "For comparisons" }, ...others.map(option));
  const made = element("select", { id }, ...options.map(option), others.length > 0 && group);
  return /** @type {HTMLSelectElement} */ (made);
}

/**
 * Above C0 the usual level is that of a global question only, so it is left to the search method.
 * @param {number} level
 * @param {number | null} usual
 * @returns {number | null}
 */
function levelChosen(level, usual) {
  return level === usual && level < 0 ? null : level;
}
