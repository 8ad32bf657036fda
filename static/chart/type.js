/** The size and width of letters on this page. */

import { cssColour } from "./colour.js";

/** How much larger than usual letters are: css/tokens.css. */
export const typeScale = () => Number(cssColour("--type")) || 1;

/** The smallest number that a cell of a matrix shows, in pixels: css/tokens.css. */
export const leastNumber = () => Number(cssColour("--least-number")) || undefined;

/** @type {CanvasRenderingContext2D|null} */
let pen = null;
/** @type {Map<string, number>} */
const widths = new Map();

/** How wide a label is, in CSS pixels. @param {string} text @param {number} font  its size */
export function widthOf(text, font) {
  const key = `${font} ${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 20_000) widths.clear();
    pen ??= /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
    pen.font = `${font}px ${cssColour("--mono")}`;
    width = pen.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}
