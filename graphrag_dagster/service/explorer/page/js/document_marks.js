// @ts-check

/** @typedef {import("./api.d.ts").TextPart} TextPart */
/** @typedef {[number, number]} CitedRange first character and one past the last, in code points */

/**
 * The ranges of characters of an address, such as 120-180,300-320; what is none is passed over.
 * @param {string | null} cited
 * @returns {CitedRange[]}
 */
export function citedRanges(cited) {
  return (cited ?? "")
    .split(",")
    .flatMap((one) => {
      const found = /^\s*(\d{1,9})-(\d{1,9})\s*$/.exec(one);
      return found && Number(found[1]) < Number(found[2])
        ? [/** @type {CitedRange} */ ([Number(found[1]), Number(found[2])])]
        : [];
    })
    .sort(([one], [other]) => one - other);
}

/**
 * Parts of a text, cut where what is cited begins and ends.
 * @param {TextPart[]} parts
 * @param {CitedRange[]} ranges
 * @returns {TextPart[]}
 */
export function cutAtCited(parts, ranges) {
  const edges = ranges.flat().sort((one, other) => one - other);
  return parts.flatMap((part) => {
    const characters = [...part.text];
    const end = part.start + characters.length;
    const inside = edges.filter((edge) => edge > part.start && edge < end);
    return [part.start, ...inside].flatMap((start, place) => {
      const stop = inside[place] ?? end;
      if (start === stop) return [];
      const cited = ranges.some(([first, last]) => first < stop && last > start);
      return [
        { ...part, start, cited, text: characters.slice(start - part.start, stop - part.start).join("") },
      ];
    });
  });
}
