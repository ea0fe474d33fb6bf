// @ts-check
import { spoken } from "./wording.js";

/** @type {Record<string, string>} columns whose names do not say to everybody what is in them */
const CALLED = {
  begun: "begun",
  by: "decided by",
  combined_degree: "neighbours of both",
  decided_at: "decided",
  degree: "neighbours",
  description_engine: "description made",
  end_char: "last character",
  end_date: "to",
  engine: "made",
  frequency: "text units",
  human_readable_id: "number",
  incomplete: "read in part",
  instances: "times extracted",
  internal_edges: "relationships inside",
  is_leaf: "not split further",
  percent_of_ts: "percent of all text",
  rating: "importance",
  raw: "as it was",
  size: "members",
  start_char: "first character",
  start_date: "from",
  summed_degree: "sum of neighbours",
  usd: "cost in US$",
  who: "by whom",
};

/** @type {Record<string, string>} */
const ENGINES = {
  as_is: "as the text says it",
  extractive: "by rules, without a model",
  llm: "by a model",
};

/**
 * What a column is called.
 * @param {string} column
 * @returns {string}
 */
export function called(column) {
  return CALLED[column] ?? spoken(column);
}

/**
 * Who made something, in words that promise no more than it is.
 * @param {string} engine
 * @returns {string}
 */
export function madeBy(engine) {
  return ENGINES[engine] ?? `by ${spoken(engine)}`;
}
