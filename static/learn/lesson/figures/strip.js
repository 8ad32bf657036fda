/** A vector as a strip: one number a pixel of a canvas that is as wide as there is room. */

import { rampColour } from "../../../chart/colour.js";
import { h } from "../../../ui/dom.js";

/** @param {ArrayLike<number>} values @param {number} most  further from 0 than this, a number has the last colour @param {string} [kind] */
export function strip(values, most, kind = "") {
  const canvas = h("canvas", { width: values.length, height: 1, "aria-hidden": "true", class: kind || null });
  const pen = /** @type {HTMLCanvasElement} */ (canvas).getContext("2d");
  const pixels = /** @type {CanvasRenderingContext2D} */ (pen).createImageData(values.length, 1);
  for (let i = 0; i < values.length; i++) {
    const share = 0.5 + Math.max(-1, Math.min(1, values[i] / most)) / 2;
    pixels.data.set([...rampColour("signed", share), 255], 4 * i);
  }
  pen?.putImageData(pixels, 0, 0);
  return canvas;
}
