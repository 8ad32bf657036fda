/** A picture of lines: which weights are drawn, and where everything is, in pixels. No DOM except for measuring text. */

import { shortLabel } from "../../model/labels.js";

// The data of a picture of lines: which are drawn, which are too thin, and the weights of one token.

/** Weights below this are not drawn, and the picture says so. */
const THIN = 0.01;

/**
 * @typedef {{name: string, values: Float32Array}} Series  one head, or the mean of several
 * @typedef {{series: number, query: number, key: number, weight: number}} Line
 * @typedef {Object} Weights
 * @property {Series[]} series
 * @property {[number, number]} shape  queries, keys
 * @property {Uint8Array|null} forbidden  not 0: no line, ever
 */

/**
 * The lines to draw, and how many there are in all.
 * @param {Weights} weights @returns {{lines: Line[], count: number}}
 */
export function weightLines({ series, shape: [nQuery, nKey], forbidden }) {
  /** @type {Line[]} */
  const lines = [];
  let count = 0;
  series.forEach(({ values }, index) => {
    for (let query = 0, at = 0; query < nQuery; query++) {
      for (let key = 0; key < nKey; key++, at++) {
        if (forbidden?.[at]) continue;
        count++;
        if (values[at] >= THIN) lines.push({ series: index, query, key, weight: values[at] });
      }
    }
  });
  return { lines, count };
}

/**
 * All allowed weights of one token, largest first: of a query to its keys, or of a key from its queries.
 * @param {Weights} weights @param {number} index  of the series @param {{role: "q"|"k", index: number}} at
 * @returns {{other: number, weight: number}[]}
 */
export function weightsAt({ series, shape: [nQuery, nKey], forbidden }, index, { role, index: token }) {
  const found = [];
  const place = (/** @type {number} */ other) => (role === "q" ? token * nKey + other : other * nKey + token);
  for (let other = 0; other < (role === "q" ? nKey : nQuery); other++) {
    if (!forbidden?.[place(other)]) found.push({ other, weight: series[index].values[place(other)] });
  }
  return found.sort((a, b) => b.weight - a.weight || a.other - b.other);
}

/** The mean of some matrices, cell by cell. @param {Float32Array[]} matrices */
export function meanOf(matrices) {
  const mean = new Float32Array(matrices[0].length);
  for (let i = 0; i < mean.length; i++) {
    let total = 0;
    for (const values of matrices) total += values[i];
    mean[i] = total / matrices.length;
  }
  return mean;
}

/**
 * The same numbers as one matrix, for the table and the CSV; several heads are stacked.
 * @param {Weights} weights @param {string[]} rows @param {string[]} cols
 */
export function asMatrix({ series, shape: [nQuery, nKey], forbidden }, rows, cols) {
  const size = nQuery * nKey;
  const values = new Float32Array(size * series.length);
  const closed = forbidden && new Uint8Array(values.length);
  series.forEach((one, i) => {
    values.set(one.values, i * size);
    if (forbidden) closed?.set(forbidden, i * size);
  });
  const named = series.flatMap(({ name }) => rows.map((label) => (series.length > 1 ? `${label} · ${name}` : label)));
  return {
    values,
    forbidden: closed,
    shape: /** @type {[number, number]} */ ([nQuery * series.length, nKey]),
    rows: named,
    cols,
  };
}

/** The space between two tokens, and on both sides of the text within one: normally, and where space is tight. */
const SPACES = [
  { gap: 8, pad: 7 },
  { gap: 3, pad: 3 },
];
/** The least and the greatest distance between the two rows of tokens. */
const [NEAREST, FARTHEST] = [110, 340];
const EDGE = 8;
const BOX = 26;
const TITLE = 20;
/** Space for characters that several tokens spell together. */
const SPELLED = 20;
/** The distance between the lines of neighbouring heads at one token. */
const BESIDE = 3;

/**
 * @typedef {{x: number, y: number, width: number, label: string, index: number}} Box  x: its middle
 * @typedef {{width: number, height: number, above: Box[], below: Box[], top: number, bottom: number, box: number,
 *   type: number}} Layout  lines run from `top` to `bottom`
 */

/**
 * The layout of both rows, each as wide as its words; the shorter one is centred on the other. The picture is as high as
 * one of `heights`.
 * @param {{above: string[], below: string[], spelled: boolean}} labels  spelled: with room for the characters of groups
 * @param {{width: number, heights: number[]}} room  of the page's column; the heights that it may have, the best first
 * @param {{measure: (text: string) => number, type: number}} font @returns {Layout}
 */
export function linesLayout({ above, below, spelled }, room, { measure, type }) {
  const all = SPACES.map((space) => rowsOf([above, below], space, measure));
  const { widths, needed, gap } = all.find(({ needed }) => Math.max(...needed) + 2 * EDGE <= room.width) ?? all[0];
  const width = Math.max(room.width, Math.max(...needed) + 2 * EDGE);
  const box = BOX * type;
  const margin = (TITLE + (spelled ? SPELLED : 0)) * type;
  const between = betweenFor(width, room.heights, 2 * (margin + box + 5));
  const [top, bottom] = [margin + box + 5, margin + box + 5 + between];
  /** @param {string[]} labels @param {number} i @param {number} y */
  const place = (labels, i, y) => {
    // A row with spare width spreads, so that lines do not overlap.
    const spread = labels.length > 1 ? Math.min(56, (width - 2 * EDGE - needed[i]) / (labels.length - 1)) : 0;
    let x = (width - needed[i] - spread * (labels.length - 1)) / 2;
    return labels.map((label, index) => {
      const own = widths[i][index];
      const middle = x + own / 2;
      x += own + gap + spread;
      return { x: middle, y, width: own, label: shortLabel(label), index };
    });
  };
  return {
    width,
    height: bottom + 5 + box + margin,
    above: place(above, 0, top - 5 - box / 2),
    below: place(below, 1, bottom + 5 + box / 2),
    top,
    bottom,
    box,
    type,
  };
}

/** @param {string[][]} rows @param {{gap: number, pad: number}} space @param {(text: string) => number} measure */
function rowsOf(rows, { gap, pad }, measure) {
  const widths = rows.map((row) => row.map((label) => Math.max(BOX, measure(shortLabel(label)) + 2 * pad)));
  return { gap, widths, needed: widths.map((row) => row.reduce((sum, width) => sum + width + gap, -gap)) };
}

/** How far apart the rows are: as their width suggests, within the first height that is enough. @param {number} width @param {number[]} heights @param {number} rest  what else is in them */
function betweenFor(width, heights, rest) {
  const wish = Math.min(FARTHEST, Math.max(170, width * 0.34));
  const left = heights.map((height) => height - rest).find((room) => room >= NEAREST) ?? wish;
  return Math.round(Math.min(wish, left));
}

/**
 * A line's path, which is vertical at both ends.
 * @param {number} from  x above @param {number} to  x below @param {Layout} layout @param {number} shift
 */
export function linePath(from, to, { top, bottom }, shift) {
  const bend = (bottom - top) * 0.45;
  const number = (/** @type {number} */ value) => Math.round(value * 10) / 10;
  const [a, b] = [number(from + shift), number(to + shift)];
  return `M${a} ${top}C${a} ${top + bend} ${b} ${bottom - bend} ${b} ${bottom}`;
}

/** The offset of a series from the middle of its token. @param {number} series @param {number} count */
export function shiftOf(series, count) {
  return (series - (count - 1) / 2) * BESIDE;
}
