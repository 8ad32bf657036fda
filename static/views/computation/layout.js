/** The size and place of a step's matrices, all to one scale. No DOM. */

/** @import { Mat, Picture } from "./product.js" */

/** Below this width, they are stacked. */
const NARROW = 560;
/** The height of a row in one token's view. */
const ROW = 22;
const [GAP, VECTOR, LARGEST, HIGHEST] = [18, 10, 30, 400];
/** The size of the sum next to matrices, and its height below them. */
const SUM = { width: 264, height: 280, below: 200 };
const CAPTIONED = 44;
/** The size in pixels from which elements can be told apart: the sum stands next to the matrices only if they reach it. */
const CLEAR = 4;
/** The least size with the sum next to them where both would be higher than the window with the sum below. */
const LEAST = 0.125;
/** The least width of a station with the sum next to its matrices. */
const BESIDE = 540;
/** The least width, which leaves room for a caption, in one line or in two. */
const [CAPTION, FOLDED] = [228, 150];
/** Captions on the right of their matrices: their width, and what is between two matrices. */
const ASIDE = { width: 300, gap: 8 };
/** The space on the left of a product is used for the sum if it is at least so large. */
const ROOM = { width: 250, height: 280 };

/**
 * @typedef {{from: number, count: number, width: number, height: number, step: number}} Box  of one matrix: the rows that
 *   are shown, its size on the screen, and the height of a row
 * @typedef {"cross"|"column"|"row"|"pairs"} Arrangement
 * @typedef {{scale: number, boxes: Box[], arrangement: Arrangement, room: boolean, beside: boolean, aside: boolean, labels: number}} Layout  `room`,
 *   `beside`: where the sum is: in the free corner of a product, or to the right of everything; `aside`: each caption is to the right of its
 *   matrix, not above it
 * @typedef {{from: number, count: number, single: boolean}} Rows  `single`: one token's view
 * @typedef {{cols: number, rows: number, flat: boolean}} Size  in elements
 * @typedef {{mats: Mat[], shown: Rows[], sizes: Size[], labels: number, width: number, height: number, left: number}} Sized
 */

/**
 * @param {Picture} picture
 * @param {{width: number, height: number, one: {query: number, key: number}|null, type: number}} options  `one`: one token's view
 * @returns {Layout}
 */
export function matricesLayout(picture, { width, height, one, type }) {
  const { mats } = picture;
  const labels = labelRoom(mats, type, width);
  const shown = mats.map((mat) => rowsOf(mat, one));
  const sizes = mats.map(({ matrix }, i) => ({
    cols: matrix.shape[1],
    rows: shown[i].count,
    flat: isFlat(shown[i]),
  }));
  const left = height - total(sizes.map(({ flat }) => CAPTIONED + (flat ? ROW : 0)));
  const drawn = { mats, shown, sizes, labels, width, height, left };
  const arrangement = arrangementOf(picture, sizes, width - labels);
  const crossed = arrangement === "cross" ? inCross(drawn) : null;
  return crossed ?? inLine(drawn, arrangement === "cross" ? "column" : arrangement);
}

/**
 * The layout as a product, if there is space for the sum in its corner or, within the window, below it.
 * @param {Sized} sized @returns {Layout|null}
 */
function inCross({ mats, shown, sizes, labels, width, left }) {
  const scale = scaleFor("cross", sizes, { width: width - labels, labels, highest: highestOf(left) });
  const boxes = mats.map((_, i) => boxOf(shown[i], sizes[i], scale));
  const room = boxes[0].width + labels >= ROOM.width && boxes[1].height >= ROOM.height;
  if (!room && width >= BESIDE && heightAt(scale, sizes) + SUM.below > left) return null;
  return { scale, boxes, arrangement: "cross", room, beside: false, aside: false, labels };
}

/** Captions are above the matrices, or on their right where that leaves these more room. @param {Sized} sized @param {Arrangement} arrangement @returns {Layout} */
function inLine({ mats, shown, sizes, labels, width, height, left }, arrangement) {
  const next = width - SUM.width - GAP - labels;
  const rows = height - total(sizes.map(({ flat }) => ASIDE.gap + (flat ? ROW : 0)));
  const wide = scaleFor(arrangement, sizes, { width: width - labels, labels });
  const above = scaleFor(arrangement, sizes, { width: next, labels, highest: Math.min(HIGHEST, left) });
  const right = scaleFor(arrangement, sizes, { width: next - ASIDE.width, labels, highest: Math.min(HIGHEST, rows) });
  const least = heightAt(wide, sizes) + SUM.height > left ? LEAST : CLEAR;
  const beside = arrangement === "column" && width >= BESIDE && Math.max(above, right) >= least;
  const scale = beside ? Math.max(above, right) : wide;
  const boxes = mats.map((_, i) => boxOf(shown[i], sizes[i], scale));
  return { scale, boxes, arrangement, room: false, beside, aside: beside && right > above, labels };
}

/** The greatest height of matrices if `left` is left for them. */
const highestOf = (/** @type {number} */ left) => Math.min(HIGHEST, Math.max(HIGHEST / 5, left));

/** @param {number} scale @param {Size[]} sizes */
const heightAt = (scale, sizes) => scale * total(sizes.map(({ rows, flat }) => (flat ? 0 : rows)));

/**
 * The rows that are drawn: all, or one token's.
 * @param {Mat} mat @param {{query: number, key: number}|null} one @returns {Rows}
 */
function rowsOf({ whose, matrix }, one) {
  return whose && one
    ? { from: one[whose], count: 1, single: true }
    : { from: 0, count: matrix.shape[0], single: false };
}

/** A row with its own height. @param {Rows} rows */
const isFlat = ({ single, count }) => single || count === 1;

/** @param {Picture} picture @param {Size[]} sizes @param {number} width @returns {Arrangement} */
function arrangementOf({ layout, mats }, sizes, width) {
  if (layout === "pairs") return "pairs";
  if (layout === "product") return width < NARROW ? "column" : "cross";
  const row = (width - GAP * 3 * mats.length) / total(sizes.map(({ cols }) => cols));
  const fits = sizes.every(({ flat }) => !flat) && width >= NARROW;
  return fits && row > scaleFor("column", sizes, { width }) ? "row" : "column";
}

/**
 * @param {Arrangement} arrangement @param {Size[]} sizes @param {{width: number, labels?: number, highest?: number}} within
 */
function scaleFor(arrangement, sizes, { width, labels = 0, highest = 1.2 * HIGHEST }) {
  const [cols, rows] = [sizes.map((one) => one.cols), sizes.map((one) => (one.flat ? 0 : one.rows))];
  const limits = {
    cross: () => [
      beside(width - GAP, cols[0], cols[cols.length - 1], labels),
      highest / (rows[1] + rows[rows.length - 1]),
    ],
    column: () => [width / Math.max(...cols), highest / total(rows)],
    row: () => [(width - 3 * GAP * sizes.length) / total(cols), HIGHEST / Math.max(...rows)],
    pairs: () => [
      beside(width - GAP, cols[0], cols[1], labels),
      (1.2 * HIGHEST) / total(rows.filter((_, i) => i % 2 === 0)),
    ],
  };
  const largest = sizes.every(({ flat }) => flat) ? 1.5 * LARGEST : LARGEST;
  const scale = Math.min(largest, ...limits[arrangement]());
  return scale >= 4 ? Math.floor(scale) : scale; // whole pixels, if an element has at least one
}

/**
 * Two matrices side by side, each at least as wide as its caption.
 * @param {number} width @param {number} first @param {number} second @param {number} labels
 */
function beside(width, first, second, labels) {
  const both = width / (first + second);
  const least = width < BESIDE ? FOLDED : CAPTION;
  if (first * both + labels < least) return (width + labels - least) / second;
  return second * both < least ? Math.max(both / 2, (width - least) / first) : both;
}

/** @param {Rows} shown @param {Size} size @param {number} scale @returns {Box} */
function boxOf({ from, count, single }, { cols, rows, flat }, scale) {
  const height = single ? ROW : flat ? Math.max(VECTOR, scale) : rows * scale;
  return { from, count, width: cols * scale, height, step: height / count };
}

/**
 * The width for the longest token name, within limits.
 * @param {Mat[]} mats @param {number} type @param {number} width
 */
function labelRoom(mats, type, width) {
  const all = mats.flatMap(({ rows }) => rows ?? []);
  const longest = all.reduce((most, label) => Math.max(most, [...label].length), 0);
  return all.length ? Math.min(width < NARROW ? 64 : 96, 14 + longest * 7.5) * type : 0;
}

const total = (/** @type {number[]} */ numbers) => numbers.reduce((sum, one) => sum + one, 0);
