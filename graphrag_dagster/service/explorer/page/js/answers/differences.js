// @ts-check

/** @typedef {import("../api.d.ts").AnswerBody} AnswerBody */
/** @typedef {import("../api.d.ts").Statement} Statement */
/** @typedef {import("../api.d.ts").Source} Source */

const ALIKE = 0.6;
const SAME_WORDS = 0.3;
const MOST_COMPARED = 300;
/** How statements are matched, for people. */
export const MATCHED_BY =
  "Two statements count as the same if they use the same words or share three fifths of them; fewer are enough if they also cite the same passage.";

/**
 * What two answers have in common: pairs of statements and of sources, each in one pair at most.
 * @typedef {object} Common
 * @property {[Statement, Statement][]} statements
 * @property {[Source, Source][]} sources
 */

/**
 * Compare two answers, by rules that give the same whenever they are asked.
 * @param {AnswerBody} one
 * @param {AnswerBody} other
 * @returns {Common}
 */
export function inCommon(one, other) {
  const ones = one.statements.slice(0, MOST_COMPARED).map((each) => comparable(each, one.sources));
  const others = other.statements.slice(0, MOST_COMPARED).map((each) => comparable(each, other.sources));
  return {
    statements: pairsOf(ones, others, likeness).map(([a, b]) => [a.statement, b.statement]),
    sources: pairsOf(one.sources, other.sources, (a, b) => (samePlace(a, b) ? 1 : 0)),
  };
}

/**
 * Pairs of things that are alike, the most alike first; of equals those that come first.
 * @template T
 * @param {T[]} ones
 * @param {T[]} others
 * @param {(a: T, b: T) => number} alike 0 for not at all
 * @returns {[T, T][]}
 */
function pairsOf(ones, others, alike) {
  const found = ones.flatMap((a, i) => others.map((b, j) => ({ a, b, i, j, score: alike(a, b) })));
  const sorted = found
    .filter((pair) => pair.score > 0)
    .sort((x, y) => y.score - x.score || x.i - y.i || x.j - y.j);
  const taken = new Set();
  /** @type {[T, T][]} */
  const made = [];
  for (const { a, b, i, j } of sorted) {
    if (taken.has(`a${i}`) || taken.has(`b${j}`)) continue;
    taken.add(`a${i}`).add(`b${j}`);
    made.push([a, b]);
  }
  return made;
}

/** @typedef {{statement: Statement, words: Set<string>, text: string, cited: Source[]}} ComparableStatement */

/**
 * @param {Statement} statement
 * @param {Source[]} sources
 * @returns {ComparableStatement}
 */
function comparable(statement, sources) {
  const words =
    statement.text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const cited = sources.filter((one) => statement.sources.includes(one.number));
  return { statement, words: new Set(words), text: words.join(" "), cited };
}

/**
 * How alike two statements are, from 0; 0 also where that is too little.
 * @param {ComparableStatement} a
 * @param {ComparableStatement} b
 */
function likeness(a, b) {
  if (a.text === b.text) return 2;
  const shared = [...a.words].filter((word) => b.words.has(word)).length;
  const overlap = shared / Math.max(1, a.words.size + b.words.size - shared);
  if (!shared) return 0;
  const cited = a.cited.some((one) => b.cited.some((other) => samePlace(one, other)));
  const score = overlap + (cited ? SAME_WORDS : 0);
  return score >= ALIKE ? score : 0;
}

/**
 * Whether two sources stand for words that overlap, or for the same row.
 * @param {Source} a
 * @param {Source} b
 */
function samePlace(a, b) {
  const [one, other] = [a.evidence, b.evidence];
  if (one?.kind === "words" && other?.kind === "words") {
    const overlap = one.start_char < other.end_char && other.start_char < one.end_char;
    return one.document_id === other.document_id && overlap;
  }
  if (one?.kind === "row" && other?.kind === "row" && one.table !== "query")
    return one.table === other.table && one.key === other.key;
  return one?.kind === other?.kind && a.kind === b.kind && a.record_id === b.record_id && a.kind !== "row";
}
