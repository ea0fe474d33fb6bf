// @ts-check

/**
 * Where on the page we are; everything that is shown follows from it, so that it can be shared.
 * @typedef {object} Place
 * @property {string} corpus empty where none is chosen
 * @property {string} page map, ask, entity, community, document, tables, find or changes
 * @property {string} id of what the page is about, empty where it is about all
 * @property {URLSearchParams} query
 */

/**
 * Read an address.
 * @param {string} hash as in `location.hash`
 * @returns {Place}
 */
export function placeOf(hash) {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [corpus = "", page = "", id = ""] = path.split("/").map(decoded);
  return { corpus, page: page || "map", id, query: new URLSearchParams(query) };
}

/**
 * Write an address.
 * @param {string} corpus
 * @param {string} [page]
 * @param {string} [id]
 * @param {Record<string, string | number | boolean | null | undefined>} [query] what is empty is left out
 * @returns {string} begins with #/
 */
export function addressOf(corpus, page = "map", id = "", query = {}) {
  const parts = [corpus, page, id].map(encodeURIComponent);
  while (parts.at(-1) === "") parts.pop();
  const told = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "" && value !== false)
      told.set(key, String(value));
  }
  return `#/${parts.join("/")}${told.size ? `?${told}` : ""}`;
}

/**
 * The address of the same place with some of its query changed.
 * @param {Place} place
 * @param {Record<string, string | number | boolean | null | undefined>} changes
 * @returns {string}
 */
export function addressWith(place, changes) {
  const query = { ...Object.fromEntries(place.query), ...changes };
  return addressOf(place.corpus, place.page, place.id, query);
}

/**
 * A number of the query; the default where it is none.
 * @param {Place} place
 * @param {string} key
 * @param {number} otherwise
 * @returns {number}
 */
export function numberIn(place, key, otherwise) {
  const text = place.query.get(key);
  const value = text === null ? Number.NaN : Number(text);
  return Number.isInteger(value) && value >= 0 ? value : otherwise;
}

/**
 * The level of communities of the query, which is below 0 above C0; null where it is none.
 * @param {Place} place
 * @returns {number | null}
 */
export function levelIn(place) {
  const text = place.query.get("level") ?? "";
  return /^-?\d{1,3}$/.test(text) ? Number(text) : null;
}

/**
 * @param {string} part
 * @returns {string}
 */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
