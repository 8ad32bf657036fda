/** One head as a small picture: a pixel for every (query, key), and no more pixels than the screen has. */

import { paintCells } from "./sheet.js";

/**
 * Draw the weights into a canvas of n_key × n_query pixels. Forbidden cells stay transparent: the hatching under the
 * canvas shows through, so they never look like a weight of 0.
 * @param {HTMLCanvasElement} canvas
 * @param {{data: Uint8Array, n_query: number, n_key: number}} pattern
 * @param {Uint8Array} mask  reasons, 0 = allowed
 * @param {Uint32Array} words  a colour for each of the 256 weights
 * @param {[number, number]} shown  width and height that the canvas has on the screen, in its pixels; 0: hidden
 * @returns {boolean} whether there are more cells than pixels
 */
export function paintHead(canvas, { data, n_query, n_key }, mask, words, [width, height]) {
  const cells = { values: data, shape: /** @type {[number, number]} */ ([n_query, n_key]), forbidden: mask };
  return paintCells(canvas, cells, { words, min: 0, max: 255 }, { room: [height || Infinity, width || Infinity] });
}
