// @ts-check

/** @typedef {Record<string, string | number | boolean | null | undefined>} Query */

/** What went wrong, in words for people. */
export class SourceError extends Error {
  /**
   * @param {string} kind for programs, as the service names it
   * @param {string} message
   * @param {number | null} [wait] seconds after which to try again, where the server says so
   */
  constructor(kind, message, wait = null) {
    super(message);
    this.kind = kind;
    this.wait = wait;
  }
}

/**
 * Where what is shown comes from: the server, or the file that the page is in.
 * @typedef {object} Source
 * @property {boolean} live whether a server is there to be asked
 * @property {(path: string, query?: Query) => Promise<any>} get what an address below / gives
 * @property {(path: string, body: object, signal?: AbortSignal) => AsyncGenerator<{event: string, data: any}>} stream
 * @property {(path: string, query?: Query) => string} address where something can be downloaded; empty where nowhere
 * @property {string | null} told what is to be said of the file, if it is one
 */

/**
 * A path below a corpus.
 * @param {string} corpus
 * @param {...(string | number)} parts
 * @returns {string}
 */
export function corpusPath(corpus, ...parts) {
  return ["corpora", corpus, ...parts].map((part) => `/${encodeURIComponent(part)}`).join("");
}

/**
 * The server that sent the page.
 * @returns {Source}
 */
export function serverSource() {
  return { live: true, told: null, get: fetched, stream: streamed, address: withQuery };
}

/**
 * An address with its query, in one order whoever asks.
 * @param {string} path
 * @param {Query} [query]
 * @returns {string}
 */
export function withQuery(path, query = {}) {
  const told = new URLSearchParams();
  for (const key of Object.keys(query).sort()) {
    const value = query[key];
    if (value !== null && value !== undefined && value !== "") told.set(key, String(value));
  }
  return told.size ? `${path}?${told}` : path;
}

/**
 * @param {string} path
 * @param {Query} [query]
 * @returns {Promise<any>}
 */
async function fetched(path, query) {
  const response = await reached(withQuery(path, query), { headers: { Accept: "application/json" } });
  return response.json();
}

/**
 * @param {string} path
 * @param {RequestInit} init
 * @returns {Promise<Response>}
 */
async function reached(path, init) {
  let response;
  try {
    response = await fetch(path, { ...init, credentials: "same-origin" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new SourceError("unreachable", "The server does not answer. Is it still running?");
  }
  if (response.ok) return response;
  const told = await response.json().catch(() => null);
  throw new SourceError(
    told?.error?.type ?? "refused",
    told?.error?.message ?? `The server refused it with status ${response.status}.`,
    Number.parseInt(response.headers.get("Retry-After") ?? "", 10) || null,
  );
}

/**
 * @param {string} path
 * @param {object} body
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<{event: string, data: any}>}
 */
async function* streamed(path, body, signal) {
  const response = await reached(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify(body),
    signal,
  });
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body)
    .pipeThrough(/** @type {any} */ (new TextDecoderStream()))
    .getReader();
  let held = "";
  while (true) {
    let read;
    try {
      read = await reader.read();
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new SourceError("cut_off", "The server stopped in the middle of the answer.");
    }
    if (read.done) break;
    held += read.value;
    const blocks = held.split("\n\n");
    held = blocks.pop() ?? "";
    for (const block of blocks) {
      const heard = eventOf(block);
      if (heard) yield heard;
    }
  }
}

/**
 * One server-sent event; null for a comment.
 * @param {string} block
 * @returns {{event: string, data: any} | null}
 */
function eventOf(block) {
  let event = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
  }
  return data.length ? { event, data: JSON.parse(data.join("\n")) } : null;
}
