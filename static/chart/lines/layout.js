/** The layout of a picture of lines, in pixels. No DOM except for measuring text. */

import { shortLabel } from "../../model/labels.js";

/** Between two tokens, and within one on both sides: as there is room, or tight. */
const SPACES = [
  { gap: 8, pad: 7 },
  { gap: 3, pad: 3 },
];
/** From one row of tokens to the other. */
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
 * Both rows, each as wide as its words; the shorter one is centred on the other. All of it is as high as one of `heights`.
 * @param {{above: string[], below: string[], spelled: boolean}} labels  spelled: with room for the characters of groups
 * @param {{width: number, heights: number[]}} room  of the page's column; the heights that it may have, the best first
 * @param {{measure: (text: string) => number, type: number}} font @returns {Layout}
 */
export function layoutOf({ above, below, spelled }, room, { measure, type }) {
  const all = SPACES.map((space) => rowsOf([above, below], space, measure));
  const { widths, needed, gap } = all.find(({ needed }) => Math.max(...needed) + 2 * EDGE <= room.width) ?? all[0];
  const width = Math.max(room.width, Math.max(...needed) + 2 * EDGE);
  const box = BOX * type;
  const margin = (TITLE + (spelled ? SPELLED : 0)) * type;
  const between = betweenFor(width, room.heights, 2 * (margin + box + 5));
  const [top, bottom] = [margin + box + 5, margin + box + 5 + between];
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
 * A line's path: it leaves and arrives straight.
 * @param {number} from  x above @param {number} to  x below @param {Layout} layout @param {number} shift
 */
export function pathOf(from, to, { top, bottom }, shift) {
  const bend = (bottom - top) * 0.45;
  const number = (value) => Math.round(value * 10) / 10;
  const [a, b] = [number(from + shift), number(to + shift)];
  return `M${a} ${top}C${a} ${top + bend} ${b} ${bottom - bend} ${b} ${bottom}`;
}

/** The offset of a series from the middle of its token. @param {number} series @param {number} count */
export function shiftOf(series, count) {
  return (series - (count - 1) / 2) * BESIDE;
}
