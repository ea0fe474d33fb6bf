// @ts-check

const WHOLE = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const SMALL = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 2 });
const MOMENT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "long" });

/**
 * A number for people.
 * @param {number} value
 * @returns {string}
 */
export function number(value) {
  return Number.isInteger(value) || Math.abs(value) >= 100 ? WHOLE.format(value) : SMALL.format(value);
}

/**
 * A number of things.
 * @param {number} count
 * @param {string} one
 * @param {string} [many] default: one with s
 * @returns {string}
 */
export function counted(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/**
 * A moment in local time.
 * @param {string} moment ISO 8601; one without a zone is UTC
 * @returns {string}
 */
export function moment(moment) {
  return formatted(moment, MOMENT);
}

/**
 * The day of a moment in local time.
 * @param {string} moment ISO 8601; one without a zone is UTC
 * @returns {string}
 */
export function day(moment) {
  return formatted(moment, DAY);
}

/**
 * @param {string} moment
 * @param {Intl.DateTimeFormat} format
 * @returns {string}
 */
function formatted(moment, format) {
  const zoned = /(Z|[+-]\d\d:?\d\d)$/.test(moment) ? moment : `${moment.replace(" ", "T")}Z`;
  const read = new Date(zoned);
  return Number.isNaN(read.getTime()) ? moment : format.format(read);
}

/**
 * A type of entity, or a reason, in small letters with blanks.
 * @param {string} text
 * @returns {string}
 */
export function spoken(text) {
  // The usual name of this type of entity says little to people.
  if (text === "GEO") return "place";
  return text.replaceAll("_", " ").toLowerCase();
}
