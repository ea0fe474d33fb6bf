// @ts-check
import { SourceError, withQuery } from "./source.js";

/**
 * The file that the page was sent in, where it was: answers of the server, by address, packed.
 * @returns {import("./source.js").Source | null}
 */
export function fileSource() {
  const held = document.getElementById("data");
  if (!held) return null;
  const unpacked = unpack((held.textContent ?? "").trim());
  const missing = "It was left out of this file. Open the explorer on the corpus itself to see it.";
  return {
    live: false,
    told: held.dataset.told ?? "",
    address: () => "",
    async get(path, query) {
      const answers = await unpacked;
      const found = answers[withQuery(path, query)];
      if (found === undefined) throw new SourceError("not_in_file", missing);
      return structuredClone(found);
    },
    // biome-ignore lint/correctness/useYield: a file answers no questions, which whoever listens is told.
    async *stream() {
      throw new SourceError("not_in_file", "A file cannot be asked. Start: graphrag-dagster explore");
    },
  };
}

/**
 * @param {string} packed JSON, compressed by gzip, in base64
 * @returns {Promise<Record<string, any>>}
 */
async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}
