/** The layout of a picture of lines, in pixels. No DOM except for measuring text. */

import { shortLabel } from "../../model/labels.js";

const GAP = 8;
const PAD = 7;
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
 * Both rows, each as wide as its words; the shorter one is centred on the other.
 * @param {{above: string[], below: string[], spelled: boolean}} labels  spelled: with room for the characters of groups
 * @param {number} room  width of the page's column
 * @param {{measure: (text: string) => number, type: number}} font @returns {Layout}
 */
export function layoutOf({ above, below, spelled }, room, { measure, type }) {
  const widths = [above, below].map((row) => row.map((label) => Math.max(BOX, measure(shortLabel(label)) + 2 * PAD)));
  const needed = widths.map((row) => row.reduce((sum, width) => sum + width + GAP, -GAP));
  const width = Math.max(room, Math.max(...needed) + 2 * EDGE);
  const box = BOX * type;
  const between = Math.round(Math.min(340, Math.max(170, width * 0.34)));
  const margin = (TITLE + (spelled ? SPELLED : 0)) * type;
  const [top, bottom] = [margin + box + 5, margin + box + 5 + between];
  const place = (labels, i, y) => {
    // A row with spare width spreads, so that lines do not overlap.
    const spread = labels.length > 1 ? Math.min(56, (width - 2 * EDGE - needed[i]) / (labels.length - 1)) : 0;
    let x = (width - needed[i] - spread * (labels.length - 1)) / 2;
    return labels.map((label, index) => {
      const own = widths[i][index];
      const middle = x + own / 2;
      x += own + GAP + spread;
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
