/** A matrix as pixels: one for each element, or, where it is shown smaller than that, the strongest of those under a pixel. */

import { currentTheme, pixelTable } from "../../chart/colour.js";
import { signedScale, weightScale } from "../../chart/matrix/scale.js";
import { once } from "./matrices.js";

/** The colours of a matrix: the same for each of its parts, by the extremes of what is not hidden. @param {import("./product.js").Mat} mat */
export function scaleOf({ matrix, ramp = "signed", forbidden }) {
  return once(matrix, [ramp, currentTheme(), forbidden ? "allowed" : "all"].join(" "), () => {
    const data = /** @type {Float32Array} */ (forbidden ? matrix.data.filter((_, i) => !forbidden[i]) : matrix.data);
    const signed = signedScale(data.length ? data : new Float32Array(1));
    return ramp === "weights" ? { ...weightScale(), seen: signed.seen } : signed;
  });
}

/**
 * @param {HTMLCanvasElement} canvas @param {import("./product.js").Mat} mat
 * @param {{from: number, count: number}} rows  which are shown
 * @param {[number, number]} room  width and height on the screen, in its pixels
 * @returns {boolean} whether there are more elements than pixels
 */
export function paint(canvas, { matrix, ramp = "signed", forbidden, ...mat }, { from, count }, [width, height]) {
  const cols = matrix.shape[1];
  const { min, max } = scaleOf({ matrix, ramp, forbidden, ...mat });
  const across = Math.min(cols, Math.max(1, Math.floor(width)));
  const down = Math.min(count, Math.max(1, Math.floor(height)));
  const pooled = across < cols || down < count;
  const start = from * cols;
  const data = matrix.data.subarray(start, start + count * cols);
  const hidden = forbidden?.subarray(start, start + count * cols) ?? null;
  const { values, seen } = pooled
    ? strongest(data, hidden, [count, cols], [down, across])
    : { values: data, seen: hidden && hidden.map((reason) => Number(reason === 0)) };
  canvas.width = across;
  canvas.height = down;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(across, down);
  const pixels = new Uint32Array(image.data.buffer);
  const table = pixelTable(ramp);
  const unit = 255 / (max - min);
  for (let i = 0; i < pixels.length; i++)
    pixels[i] = seen && !seen[i] ? 0 : table[Math.round((values[i] - min) * unit)];
  context.putImageData(image, 0, 0);
  return pooled;
}

/** Of each block the value that is furthest from 0, of those that are not hidden; and whether there is one. */
function strongest(data, hidden, [rows, cols], [down, across]) {
  const values = new Float32Array(down * across);
  const seen = new Uint8Array(down * across);
  const columns = Uint16Array.from({ length: cols }, (_, col) => Math.floor((col * across) / cols));
  for (let row = 0, i = 0; row < rows; row++) {
    const first = Math.floor((row * down) / rows) * across;
    for (let col = 0; col < cols; col++, i++) {
      if (hidden?.[i]) continue;
      const block = first + columns[col];
      seen[block] = 1;
      if (Math.abs(data[i]) > Math.abs(values[block])) values[block] = data[i];
    }
  }
  return { values, seen };
}
