/** A vector as a strip: one number a pixel of a canvas that is as wide as there is room. */

import { signedScale } from "../../../chart/matrix/scale.js";
import { colourTable, paintCells } from "../../../chart/matrix/sheet.js";
import { h } from "../../../ui/dom.js";

/** @param {ArrayLike<number>} values @param {number} most  further from 0 than this, a number has the last colour @param {string} [kind] */
export function strip(values, most, kind = "") {
  const canvas = h("canvas", { "aria-hidden": "true", class: kind || null });
  const within = Float32Array.from(values, (value) => Math.max(-most, Math.min(most, value)));
  const scale = { ...signedScale(within), min: -most, max: most };
  paintCells(
    /** @type {HTMLCanvasElement} */ (canvas),
    { values: within, shape: [1, values.length], forbidden: null },
    colourTable(scale),
  );
  return canvas;
}
