/**
 * The cells on a canvas, pixel by pixel: hatching, colours, gaps with rounded corners, numbers. Nothing is smoothed:
 * a cell has one colour, whatever its size.
 */

import { cssColour, pixelsBetween, pixelTable, rampStops } from "../theme.js";
import { numbersOf } from "./labels.js";
import { PALE } from "./scale.js";
import { rowBands } from "./view.js";

/**
 * @import { Size } from "./layout.js"
 * @import { Matrix } from "./matrix.js"
 * @import { Scale } from "./scale.js"
 * @import { View } from "./view.js"
 */

// Values as pixels, through a colour table. No DOM: returns the words of an ImageData's buffer.

/**
 * @typedef {Object} Cells
 * @property {ArrayLike<number>} values  row after row
 * @property {[rows: number, cols: number]} shape
 * @property {ArrayLike<number>|null} [forbidden]  not 0: see-through, so that the hatching below shows
 * @property {string[]} [tints]  or this colour, "#rrggbbaa", by the value in `forbidden`
 *
 * @typedef {{words: Uint32Array, min: number, max: number}} Table  the colours from `min` to `max`, evenly spaced
 * @typedef {{pixels: Uint32Array, rows: number, cols: number, pooled: boolean}} Pixels
 */

/** The number of colours: with 4 per step of a uint8, 0 is exactly in the middle of a signed scale. */
const COLOURS = 4 * 255 + 1;

/** @type {Map<string, Uint32Array>} */
const tables = new Map();

/** @param {Scale} scale @returns {Table} */
export function colourTable(scale) {
  const { stops, min, max, steps } = scale;
  const key = `${stops.join()} ${steps ?? ""}`;
  let words = tables.get(key);
  if (!words) {
    if (tables.size > 60) tables.clear();
    words = pixelsBetween(stops, steps ? stops.length : COLOURS);
    tables.set(key, words);
  }
  return { words, min, max };
}

/**
 * A pixel for each cell in view. With fewer pixels than cells, each shows the value furthest from 0 under it, so a head
 * that looks at one token stays visible as a line in any long text.
 * @param {Cells} cells @param {Table} table
 * @param {View} [view]  all cells
 * @param {[rows: number, cols: number]} [room]  no more pixels than that
 * @returns {Pixels}
 */
export function cellPixels(cells, table, view, room = [Infinity, Infinity]) {
  const [all, across] = cells.shape;
  const seen = view ?? { row: 0, col: 0, rows: all, cols: across };
  const rows = Math.min(seen.rows, Math.max(1, Math.floor(room[0])));
  const cols = Math.min(seen.cols, Math.max(1, Math.floor(room[1])));
  const pooled = rows < seen.rows || cols < seen.cols;
  return { pixels: (pooled ? strongest : each)(cells, table, seen, [rows, cols]), rows, cols, pooled };
}

/** @param {Cells} cells @param {Table} table @param {View} view */
function each({ values, shape, forbidden, tints = [] }, { words, min, max }, { row, col, rows, cols }) {
  const pixels = new Uint32Array(rows * cols);
  const over = tints.map((tint) => pixelsBetween([tint, tint], 2)[0]);
  const unit = (words.length - 1) / (max - min);
  for (let y = 0, i = 0; y < rows; y++) {
    for (let x = 0, at = (row + y) * shape[1] + col; x < cols; x++, i++, at++) {
      pixels[i] = forbidden?.[at] ? (over[forbidden[at]] ?? 0) : words[Math.round((values[at] - min) * unit)];
    }
  }
  return pixels;
}

/** @param {Cells} cells @param {Table} table @param {View} view @param {[number, number]} pixels */
function strongest({ values, shape, forbidden, tints }, table, { row, col, rows, cols }, [down, across]) {
  const furthest = new Float32Array(down * across);
  const empty = new Uint8Array(down * across).fill(1);
  const blocks = Uint16Array.from({ length: cols }, (_, x) => Math.floor((x * across) / cols));
  for (let y = 0; y < rows; y++) {
    const first = Math.floor((y * down) / rows) * across;
    for (let x = 0, at = (row + y) * shape[1] + col; x < cols; x++, at++) {
      const block = first + blocks[x];
      if (forbidden?.[at]) {
        if (empty[block]) empty[block] = Math.max(empty[block], forbidden[at]);
        continue;
      }
      empty[block] = 0;
      if (Math.abs(values[at]) > Math.abs(furthest[block])) furthest[block] = values[at];
    }
  }
  const block = { row: 0, col: 0, rows: down, cols: across };
  return each({ values: furthest, shape: [down, across], forbidden: empty, tints }, table, block);
}

/**
 * @typedef {Pick<Matrix, "values"|"tones"|"shape"|"forbidden"|"tints"|"onHatching"|"hatched"|"ink"|"faint"|"scale"|"cellText"|"square"|"numbers"|"struck"> & {chosen?: Matrix["chosen"]}} Drawable
 * @typedef {Pick<Size, "box"|"cell"|"view"|"dpr"> & Partial<Pick<Size, "high">>} Extent
 */

/** Cells smaller than this, in pixels, have no gap: it would hide the colour. */
const SMALLEST = 5;

/** The gap around the colour of a cell, and its corners. @param {{w: number, h: number}} cell */
export function cellGap({ w, h }) {
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
  const { pixels, rows, cols, pooled } = cellPixels(cells, table, view, room);
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
  const pooled = paintCells(small, colouredBy(matrix), colourTable(matrix.scale), {
    view,
    room: [canvas.height, canvas.width],
  });
  pen.imageSmoothingEnabled = false;
  for (const { row, rows, y, h } of rowBands(size)) {
    const share = small.height / view.rows; // less than 1 where there are more cells than pixels
    pen.setTransform(1, 0, 0, 1, 0, y * dpr);
    const [from, across, down] = [(row - view.row) * share, canvas.width, rows * h * dpr];
    pen.drawImage(small, 0, from, small.width, rows * share, 0, 0, across, down);
    drawGaps(pen, { dpr, cell: { w: size.cell.w, h }, view: { ...view, rows } }, down);
  }
  pen.resetTransform();
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

/** A sheet in the panel's colour with a rounded window for each cell. @param {CanvasRenderingContext2D} pen @param {Pick<Extent, "cell"|"dpr"|"view">} size @param {number} height  in pixels */
function drawGaps(pen, { cell, dpr, view }, height) {
  const { gap, corner } = cellGap(cell);
  if (gap === 0) return;
  const panel = cssColour("--panel");
  const [w, h] = [cell.w * dpr, cell.h * dpr];
  if (!Number.isInteger(w) || !Number.isInteger(h)) return drawLines(pen, { w, h, view, width: 2 * gap * dpr, panel });
  fillWith(
    pen,
    w,
    h,
    (tile) => {
      tile.fillStyle = panel;
      tile.beginPath();
      tile.rect(0, 0, w, h);
      tile.roundRect(gap * dpr, gap * dpr, w - 2 * gap * dpr, h - 2 * gap * dpr, corner * dpr);
      tile.fill("evenodd");
    },
    height,
  );
}

/** Cells that end between two pixels have plain gaps: no tile fits them. @param {CanvasRenderingContext2D} pen @param {{w: number, h: number, view: View, width: number, panel: string}} parts */
function drawLines(pen, { w, h, view, width, panel }) {
  const { canvas } = pen;
  pen.fillStyle = panel;
  for (let row = 0; row <= view.rows; row++) pen.fillRect(0, Math.round(row * h) - width / 2, canvas.width, width);
  for (let col = 0; col <= view.cols; col++) pen.fillRect(Math.round(col * w) - width / 2, 0, width, canvas.height);
}

/** @param {CanvasRenderingContext2D} pen @param {Drawable} matrix @param {Extent} extent */
function drawNumbers(pen, matrix, extent) {
  const { size: font, numbers } = numbersOf(matrix, extent);
  const { box, dpr } = extent;
  pen.textAlign = "center";
  for (const { x, y, text, ink, size = font } of numbers) {
    pen.font = `${size * dpr}px ${cssColour("--mono")}`;
    pen.fillStyle = ink;
    pen.fillText(text, (x - box.x) * dpr, (y - box.y + size * 0.35) * dpr);
  }
}

/** Everything, or what is above `down` pixels, with copies of one tile. @param {CanvasRenderingContext2D} pen @param {number} width @param {number} height @param {(tile: CanvasRenderingContext2D) => void} draw */
function fillWith(pen, width, height, draw, down = pen.canvas.height) {
  const tile = document.createElement("canvas");
  [tile.width, tile.height] = [width, height];
  draw(contextOf(tile));
  pen.fillStyle = /** @type {CanvasPattern} */ (pen.createPattern(tile, "repeat"));
  pen.fillRect(0, 0, pen.canvas.width, down);
}

/** @param {HTMLCanvasElement} canvas */
const contextOf = (canvas) => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));

// One head as a small picture: a pixel for every (query, key), and no more pixels than the screen has.

/**
 * What has changed in a head, from 0 (all of a weight is lost) to 255; 128: nothing. Its forbidden cells are those that were forbidden before, too.
 * @param {{data: Uint8Array}} now @param {{data: Uint8Array}} before @param {Uint8Array} mask  of now
 */
export function changeIn({ data }, { data: was }, mask) {
  const change = data.map((one, i) => 128 + Math.round((one - was[i]) / 2.01));
  return { change, forbidden: mask.map((reasons, i) => (was[i] === 0 ? reasons : 0)) };
}

/** A weight that changes by this much, up or down, has the strongest colour. */
const STRONG_CHANGE = 0.5;

/** The colours of these changes, as those of the river's lines; nothing is as the paper. @param {string[]} signed  the stops of the ramp */
function changeTable(signed) {
  const table = pixelsBetween(signed, 256);
  const at = (/** @type {number} */ share) => table[Math.round(127.5 + share * 127.5)];
  return table.map((_, i) => {
    const part = Math.min(1, Math.abs(i - 128) / 128 / STRONG_CHANGE) ** 0.6;
    return at((part * Math.sign(i - 128) * STRONG_STOP) / ((signed.length - 1) / 2));
  });
}

/** From the middle of the ramp; further, it is all but black. */
const STRONG_STOP = 2;

/** The colours of a small picture: of its weights; in a difference of how they changed, or of weights that did not. @param {"changed"|"unchanged"|null} change */
export function headTable(change) {
  if (change === "changed") return changeTable(rampStops("signed"));
  const table = pixelTable("weights");
  return change ? table.map((_, i) => table[Math.round(PALE * i)]) : table;
}

/**
 * Draw the weights into a canvas of n_key × n_query pixels. Forbidden cells stay transparent: the hatching under the
 * canvas shows through, so they never look like a weight of 0.
 * @param {HTMLCanvasElement} canvas
 * @param {{data: Uint8Array, n_query: number, n_key: number}} pattern
 * @param {Uint8Array} mask  reasons, 0 = allowed
 * @param {Uint32Array} words  a colour for each of the 256 weights
 * @param {[number, number]} shown  width and height that the canvas has on the screen, in its pixels; 0: hidden
 * @param {{data: Uint8Array}|null} [before]  the weights from which the change is drawn
 * @returns {boolean} whether there are more cells than pixels
 */
export function paintHead(canvas, pattern, mask, words, [width, height], before = null) {
  const { change, forbidden } = before ? changeIn(pattern, before, mask) : { change: pattern.data, forbidden: mask };
  const cells = {
    values: change,
    shape: /** @type {[number, number]} */ ([pattern.n_query, pattern.n_key]),
    forbidden,
  };
  return paintCells(canvas, cells, { words, min: 0, max: 255 }, { room: [height || Infinity, width || Infinity] });
}
