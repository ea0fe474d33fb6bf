// @ts-check

/** @typedef {{x: number, y: number, width: number, height: number}} Rectangle */

/**
 * Divide a frame into rectangles of areas in proportion to values, as near to squares as rows allow:
 * a squarified treemap (Bruls, Huizing, van Wijk 2000).
 * @param {number[]} values positive; squarest where the largest come first
 * @param {number} width of the frame
 * @param {number} height of the frame
 * @returns {Rectangle[]} one for each value, in their order
 */
export function squarified(values, width, height) {
  let left = values.reduce((sum, value) => sum + value, 0);
  let frame = { x: 0, y: 0, width, height };
  /** @type {Rectangle[]} */
  const placed = [];
  while (placed.length < values.length) {
    const scale = (frame.width * frame.height) / left;
    const side = Math.min(frame.width, frame.height);
    const count = rowLength(values, placed.length, scale, side);
    const row = values.slice(placed.length, placed.length + count);
    left -= row.reduce((sum, value) => sum + value, 0);
    frame = layRow(
      placed,
      row.map((value) => value * scale),
      frame,
    );
  }
  return placed;
}

/**
 * How many values stand beside each other along a side: as many as make the worst of them squarer.
 * @param {number[]} values
 * @param {number} start
 * @param {number} scale
 * @param {number} side
 * @returns {number}
 */
function rowLength(values, start, scale, side) {
  let [sum, least, most, worst] = [0, Infinity, 0, Infinity];
  for (let end = start; end < values.length; end += 1) {
    const area = (values[end] ?? 0) * scale;
    sum += area;
    least = Math.min(least, area);
    most = Math.max(most, area);
    const square = (sum / side) ** 2;
    const ratio = Math.max(most / square, square / least);
    if (ratio > worst) return end - start;
    worst = ratio;
  }
  return values.length - start;
}

/**
 * Lay a row along the shorter side of a frame.
 * @param {Rectangle[]} placed to which it is added
 * @param {number[]} areas
 * @param {Rectangle} frame
 * @returns {Rectangle} what is left of the frame
 */
function layRow(placed, areas, frame) {
  const sum = areas.reduce((one, other) => one + other, 0);
  const upright = frame.width >= frame.height;
  const side = upright ? frame.height : frame.width;
  const thick = sum / side;
  let along = upright ? frame.y : frame.x;
  for (const area of areas) {
    const long = area / thick;
    placed.push(
      upright
        ? { x: frame.x, y: along, width: thick, height: long }
        : { x: along, y: frame.y, width: long, height: thick },
    );
    along += long;
  }
  return upright
    ? { ...frame, x: frame.x + thick, width: Math.max(frame.width - thick, 0) }
    : { ...frame, y: frame.y + thick, height: Math.max(frame.height - thick, 0) };
}

/**
 * The rectangle beside another: the nearest one in a direction, those that face it first.
 * @param {Rectangle[]} rectangles
 * @param {number} from
 * @param {"ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown"} key
 * @returns {number} its place; `from` where there is none
 */
export function besides(rectangles, from, key) {
  const here = rectangles[from];
  if (!here) return from;
  const across = key === "ArrowLeft" || key === "ArrowRight";
  const onward = key === "ArrowRight" || key === "ArrowDown";
  const [start, middle] = facing(here, across);
  const far = start + (across ? here.width : here.height);
  let [best, least] = [from, Infinity];
  rectangles.forEach((one, place) => {
    if (place === from) return;
    const [near, centre] = facing(one, across);
    const end = near + (across ? one.width : one.height);
    const gap = onward ? near - far : start - end;
    if (gap < -0.5) return;
    const half = (across ? one.height : one.width) / 2;
    const aside = Math.max(Math.abs(centre - middle) - half, 0);
    const distance = gap + 2 * aside + Math.abs(centre - middle) / 1000;
    if (distance < least) [best, least] = [place, distance];
  });
  return best;
}

/**
 * Where a rectangle begins in a direction, and its middle crosswise.
 * @param {Rectangle} one
 * @param {boolean} across
 * @returns {[number, number]}
 */
function facing(one, across) {
  return across ? [one.x, one.y + one.height / 2] : [one.y, one.x + one.width / 2];
}
