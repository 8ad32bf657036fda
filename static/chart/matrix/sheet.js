/**
 * The cells on a canvas, pixel by pixel: hatching, colours, gaps with rounded corners, numbers. Nothing is smoothed:
 * a cell has one colour, whatever its size.
 */

import { cssColour } from "../colour.js";
import { numbersOf } from "./numbers.js";
import { pixelsOf, tableOf } from "./pixels.js";

/**
 * @import { Size } from "./layout.js"
 * @import { Matrix } from "./matrix.js"
 * @import { Cells, Table } from "./pixels.js"
 * @import { View } from "./view.js"
 */

/**
 * @typedef {Pick<Matrix, "values"|"tones"|"shape"|"forbidden"|"tints"|"onHatching"|"hatched"|"ink"|"scale"|"cellText"|"square"|"numbers">} Drawable
 * @typedef {Pick<Size, "box"|"cell"|"view"|"dpr">} Extent
 */

/** Cells smaller than this, in pixels, have no gap: it would hide the colour. */
const SMALLEST = 5;

/** The gap around the colour of a cell, and its corners. @param {{w: number, h: number}} cell */
export function gapOf({ w, h }) {
  const least = Math.min(w, h);
  if (least < SMALLEST) return { gap: 0, corner: 0 };
  return { gap: least >= 20 ? 1 : 0.5, corner: Math.min(4, w / 6, h / 6) };
}

/** The hatching of forbidden cells. @param {{w: number}} cell */
export const hatchOf = ({ w }) => (w >= 14 ? { step: 7, stroke: 1.2 } : { step: 4, stroke: 0.9 });

/** A tile's diagonal, and half a line in two corners, so that lines continue from tile to tile. @param {number} step */
export const HATCH = (step) => `M0 ${step}L${step} 0M-1 1L1 -1M${step - 1} ${step + 1}L${step + 1} ${step - 1}`;

/**
 * One pixel for each cell, and no more than `room` has; forbidden cells are see-through.
 * @param {HTMLCanvasElement} canvas @param {Cells} cells @param {Table} table
 * @param {{view?: View, room?: [rows: number, cols: number]}} [which]
 * @returns {boolean} whether there are more cells than pixels
 */
export function paintCells(canvas, cells, table, { view, room } = {}) {
  const { pixels, rows, cols, pooled } = pixelsOf(cells, table, view, room);
  if (canvas.width !== cols) canvas.width = cols;
  if (canvas.height !== rows) canvas.height = rows;
  contextOf(canvas).putImageData(
    new ImageData(new Uint8ClampedArray(/** @type {ArrayBuffer} */ (pixels.buffer)), cols, rows),
    0,
    0,
  );
  return pooled;
}

/** The cells as they are coloured. @template {Pick<Drawable, "values"|"tones">} M @param {M} matrix */
export const colouredBy = (matrix) => ({ ...matrix, values: matrix.tones ?? matrix.values });

/** @type {HTMLCanvasElement|null} where cells are put before they are enlarged */
let small = null;

/**
 * Draw all that is seen of `matrix` into `canvas`, which covers the cells.
 * @param {HTMLCanvasElement} canvas @param {Drawable} matrix @param {Extent} size
 * @returns {boolean} whether there are more cells than pixels
 */
export function drawSheet(canvas, matrix, size) {
  const { box, dpr, view } = size;
  canvas.width = Math.max(1, Math.round(box.w * dpr)); // clears it too
  canvas.height = Math.max(1, Math.round(box.h * dpr));
  const pen = contextOf(canvas);
  if (matrix.hatched ?? matrix.forbidden) drawHatching(pen, size);
  small ??= document.createElement("canvas");
  const pooled = paintCells(small, colouredBy(matrix), tableOf(matrix.scale), {
    view,
    room: [canvas.height, canvas.width],
  });
  pen.imageSmoothingEnabled = false;
  pen.drawImage(small, 0, 0, canvas.width, canvas.height);
  drawGaps(pen, size);
  drawNumbers(pen, matrix, size);
  return pooled;
}

/** @param {CanvasRenderingContext2D} pen @param {Extent} size */
function drawHatching(pen, { cell, dpr }) {
  const { step, stroke } = hatchOf(cell);
  const side = Math.round(step * dpr);
  fillWith(pen, side, side, (tile) => {
    tile.scale(side / step, side / step);
    tile.lineWidth = stroke;
    tile.strokeStyle = cssColour("--line-2");
    tile.stroke(new Path2D(HATCH(step)));
  });
}

/** A sheet in the panel's colour with a rounded window for each cell. @param {CanvasRenderingContext2D} pen @param {Extent} size */
function drawGaps(pen, { cell, dpr, view }) {
  const { gap, corner } = gapOf(cell);
  if (gap === 0) return;
  const panel = cssColour("--panel");
  const [w, h] = [cell.w * dpr, cell.h * dpr];
  if (!Number.isInteger(w) || !Number.isInteger(h)) return drawLines(pen, { w, h, view, width: 2 * gap * dpr, panel });
  fillWith(pen, w, h, (tile) => {
    tile.fillStyle = panel;
    tile.beginPath();
    tile.rect(0, 0, w, h);
    tile.roundRect(gap * dpr, gap * dpr, w - 2 * gap * dpr, h - 2 * gap * dpr, corner * dpr);
    tile.fill("evenodd");
  });
}

/** Cells that end between two pixels have plain gaps: no tile fits them. */
function drawLines(pen, { w, h, view, width, panel }) {
  const { canvas } = pen;
  pen.fillStyle = panel;
  for (let row = 0; row <= view.rows; row++) pen.fillRect(0, Math.round(row * h) - width / 2, canvas.width, width);
  for (let col = 0; col <= view.cols; col++) pen.fillRect(Math.round(col * w) - width / 2, 0, width, canvas.height);
}

/** @param {CanvasRenderingContext2D} pen @param {Drawable} matrix @param {Extent} size */
function drawNumbers(pen, matrix, size) {
  const { size: font, numbers } = numbersOf(matrix, size);
  const { box, dpr } = size;
  pen.font = `${font * dpr}px ${cssColour("--mono")}`;
  pen.textAlign = "center";
  for (const { x, y, text, ink } of numbers) {
    pen.fillStyle = ink;
    pen.fillText(text, (x - box.x) * dpr, (y - box.y + font * 0.35) * dpr);
  }
}

/** Everything, with copies of one tile. @param {CanvasRenderingContext2D} pen @param {(tile: CanvasRenderingContext2D) => void} draw */
function fillWith(pen, width, height, draw) {
  const tile = document.createElement("canvas");
  [tile.width, tile.height] = [width, height];
  draw(contextOf(tile));
  pen.fillStyle = /** @type {CanvasPattern} */ (pen.createPattern(tile, "repeat"));
  pen.fillRect(0, 0, pen.canvas.width, pen.canvas.height);
}

/** @param {HTMLCanvasElement} canvas */
const contextOf = (canvas) => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
