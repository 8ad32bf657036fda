/**
 * A matrix as SVG: for the page, what is around and over the cells; for a file, the whole picture. Both start as
 * plain data, so that a test can read them without a browser.
 */

import { rgb } from "../theme.js";
import { cellsIn, labelShapes, noteShapes, numbersOf, placesOfTwo } from "./labels.js";
import { NUMBERED } from "./layout.js";
import { colourAt } from "./scale.js";
import { cellGap, HATCH, hatchOf } from "./sheet.js";
import { boxOf, isInView, middleOf } from "./view.js";

/**
 * @import { Size } from "./layout.js"
 * @import { Axis, Matrix } from "./matrix.js"
 */

// What is drawn over the cells: the outline of the chosen cell, its row and column, and edges; each as a shape of
// svg.js.

/** The least width of the frame around the chosen cell, in pixels. */
const SEEN = 9;
/** The least sides of the frame of a lit row or column. */
const LEAST = 3;
/** Smaller cells also get guide lines from both axes. */
const SMALL = 14;

/** @param {Matrix} matrix @param {Size} size @returns {Shape[]} */
export function markShapes(matrix, size) {
  const marks = [
    struckShapes,
    dotShapes,
    openedShapes,
    edgeShapes,
    windowShapes,
    bandShapes,
    litShapes,
    chosenShapes,
    noteShapes,
  ];
  return marks.flatMap((shapes) => shapes(matrix, size));
}

/** The least height of a number, its size, and how far its line is longer, in pixels. */
const [STRUCK, STRUCK_SIZE, LONGER] = [15, 11.5, 2];

/** Whether a cell that is seen has room for what stood in it before below its number, and has it. @param {Matrix} matrix @param {Size} size */
export const hasTwo = ({ struck = [] }, size) =>
  size.cell.w >= NUMBERED &&
  struck.some(
    (one) => one.below && isInView(one, size.view) && placesOfTwo(boxOf(one, size), size.type, size.least) !== null,
  );

/** What stood in a cell before: struck out, in the hatching or below the number. @param {Matrix} matrix @param {Size} size @returns {Shape[]} */
function struckShapes({ struck = [] }, size) {
  const { cell, view, type, least } = size;
  if (cell.w < NUMBERED || cell.h < STRUCK) return [];
  return struck.flatMap(({ row, col, text, ink, below }) => {
    const [middle, at] = [middleOf({ row, col }, size), boxOf({ row, col }, size)];
    const from = below ? placesOfTwo(at, type, least)?.before : { y: 0, size: STRUCK_SIZE * type };
    if (!from || !isInView({ row, col }, view)) return [];
    const [x, y, font] = [middle.x, middle.y + from.y, from.size];
    const place = { x, y: y + font * 0.36, "font-size": font, "text-anchor": "middle" };
    const attrs = { class: "struck", "font-family": "--mono", fill: ink };
    const half = font * text.length * 0.3 + LONGER;
    const stroke = {
      d: `M${x - half} ${Math.floor(y) + 0.5}H${x + half}`,
      stroke: ink,
      "stroke-width": 1,
      "stroke-opacity": 0.5,
    };
    const plate = {
      x: x - half - 1,
      y: y - font * 0.62,
      width: 2 * half + 2,
      height: font * 1.24,
      rx: 3,
      fill: "--panel",
    };
    /** @type {Shape[]} */
    const number = [
      { tag: "text", attrs: { ...attrs, ...place }, children: [text] },
      { tag: "path", attrs: stroke },
    ];
    return below ? number : [{ tag: "rect", attrs: plate }, ...number]; // on the hatching it needs a plain ground
  });
}

/** A dot's radius, and how far it is from the corner and from the next one, in pixels. */
const DOT = { r: 1.8, in: 5.5, step: 5.5 };

/** Small dots in the right upper corner of a cell that has room for them. @param {Matrix} matrix @param {Size} size @returns {Shape[]} */
function dotShapes({ dots, shape: [, n] }, size) {
  if (!dots || Math.min(size.cell.w, size.cell.h) < SMALL) return [];
  return cellsIn(size.view).flatMap((cell) => {
    const { x, y, w } = boxOf(cell, size);
    return Array.from({ length: dots[cell.row * n + cell.col] }, (_, i) => ({
      tag: /** @type {const} */ ("circle"),
      attrs: { class: "dot", cx: x + w - DOT.in - i * DOT.step, cy: y + DOT.in, r: DOT.r, fill: "--q" },
    }));
  });
}

/** A dashed frame around each cell that the reader has allowed. @param {Matrix} matrix @param {Size} size @returns {Shape[]} */
function openedShapes({ opened, shape: [, n] }, size) {
  if (!opened) return [];
  return cellsIn(size.view)
    .filter(({ row, col }) => opened[row * n + col])
    .map((cell) => {
      const { tag, attrs } = rounded(frame(grown(boxOf(cell, size), 2), "--q", 1.5, "opened"));
      return { tag, attrs: { ...attrs, "stroke-dasharray": "3 2" } };
    });
}

/** A dashed frame around columns that belong together. @param {Matrix} matrix @param {Size} size @returns {Shape[]} */
function bandShapes({ band }, { box, cell, view }) {
  if (!band) return [];
  const at = { x: box.x + (band[0] - view.col) * cell.w, y: box.y, w: (band[1] - band[0]) * cell.w, h: box.h };
  const { tag, attrs } = frame(at, "--ink-2", 1, "band");
  return [{ tag, attrs: { ...attrs, "stroke-dasharray": "4 3" } }];
}

/** The frame of a row, a column or (both) a cell. @param {Matrix} matrix @param {Size} size */
function litShapes({ lit = {} }, size) {
  const [{ row, col }, { box, cell, view }] = [lit, size];
  if (row === undefined && col === undefined) return [];
  if (row !== undefined && (row < view.row || row >= view.row + view.rows)) return [];
  const { y, h } = row === undefined ? box : boxOf({ row, col: view.col }, size);
  const [x, w] = col === undefined ? [box.x, box.w] : [box.x + (col - view.col) * cell.w, cell.w];
  return [frame({ x, y, w: Math.max(LEAST, w), h: Math.max(LEAST, h) }, "--ink", 1.5, "lit")];
}

/** The frame around the chosen cell, or around its row; with small cells also the guide lines. @param {Matrix} matrix @param {Size} size */
function chosenShapes({ chosen, rows, cols, bare }, size) {
  const { box, cell, view } = size;
  if (!isInView(chosen, view)) return [];
  const at = boxOf(chosen, size);
  if (chosen.span === "row") {
    const row = { x: box.x, y: at.y, w: box.w, h: at.h };
    return [frame(row, `--${chosen.role}`, 2, "chosen row"), frame(grown(at, 0), "--ink", 1.25, "chosen")];
  }
  if (bare) {
    const across = rounded(frame({ x: box.x, y: at.y, w: box.w, h: at.h }, colourOf(rows, "--q"), 1.5, "of-row"));
    const down = rounded(frame({ x: at.x, y: box.y, w: cell.w, h: box.h }, colourOf(cols, "--k"), 1, "of-col"));
    return [down, across, rounded(frame(grown(at, 0), "--q", 3, "chosen"))];
  }
  const outline = frame(grown(at, 1), "--q", 2.5, "chosen");
  if (Math.min(cell.w, cell.h) >= SMALL) return [outline];
  const across = { x: box.x, y: at.y, w: at.x - box.x, h: at.h };
  const down = { x: at.x, y: box.y, w: cell.w, h: at.y - box.y };
  return [frame(across, colourOf(rows, "--q"), 0.75, "way"), frame(down, colourOf(cols, "--k"), 0.75, "way"), outline];
}

/** @param {Axis} axis @param {string} otherwise */
const colourOf = ({ role }, otherwise) => (role ? `--${role}` : otherwise);

/** Inside the cell by `inset`, but at least large enough to be visible. @param {Rect} at @param {number} inset */
function grown({ x, y, w, h }, inset) {
  const [dx, dy] = [w, h].map((side) => (side < SEEN ? (SEEN - side) / 2 : -inset));
  return { x: x - dx, y: y - dy, w: w + 2 * dx, h: h + 2 * dy };
}

/** @param {string} d @returns {Shape} */
const line = (d) => ({
  tag: "path",
  attrs: { class: "edge", d, fill: "none", stroke: "--ink", "stroke-width": 1.5, "stroke-dasharray": "4 3" },
});

/** A dashed line between the cells in `outside` and the others, a whole one around those in `freed`. @param {Matrix} matrix @param {Size} size */
function windowShapes({ outside, freed, shape: [, cols] }, size) {
  const whole = { class: "edge freed", stroke: "--ink-2", "stroke-width": 2, "stroke-dasharray": undefined };
  const border = (/** @type {Uint8Array|null|undefined} */ inside) => (inside ? borderOf(inside, cols, size) : []);
  return [...border(outside), ...border(freed).map(({ tag, attrs }) => ({ tag, attrs: { ...attrs, ...whole } }))];
}

/** Between the cells that are not 0 and the others. @param {Uint8Array} outside @param {number} cols @param {Size} size */
function borderOf(outside, cols, size) {
  const { row: top, col: left, rows, cols: wide } = size.view;
  const at = (/** @type {number} */ row, /** @type {number} */ col) => outside[row * cols + col] !== 0;
  const sides = [];
  for (let row = top; row < top + rows; row++) {
    for (let col = left; col < left + wide; col++) {
      const { x, y, w, h } = boxOf({ row, col }, size);
      if (col > left && at(row, col) !== at(row, col - 1)) sides.push(`M${x} ${y}v${h}`);
      if (row > top && at(row, col) !== at(row - 1, col)) sides.push(`M${x} ${y}h${w}`);
    }
  }
  return sides.length ? [line(sides.join(""))] : [];
}

/** Dashed lines across the picture, at the boundaries in `edges`. @param {Matrix} matrix @param {Size} size */
function edgeShapes({ edges }, size) {
  const { box, view, cell } = size;
  const y = boxOf({ row: edges?.row ?? 0, col: 0 }, size).y;
  const [row, col] = [(edges?.row ?? 0) - view.row, (edges?.col ?? 0) - view.col];
  return [
    row > 0 && row < view.rows && line(`M${box.x} ${y}h${box.w}`),
    col > 0 && col < view.cols && line(`M${box.x + col * cell.w} ${box.y}v${box.h}`),
  ].filter((one) => one !== false);
}

/** @param {Rect} at @param {string} stroke @param {number} width @param {string} name @returns {Shape} */
function frame({ x, y, w, h }, stroke, width, name) {
  return {
    tag: "rect",
    attrs: { class: name, x, y, width: w, height: h, fill: "none", stroke, "stroke-width": width },
  };
}

/** @param {Shape} shape @returns {Shape} */
const rounded = ({ tag, attrs }) => ({ tag, attrs: { ...attrs, rx: Math.min(4, Number(attrs.width) / 4) } });

/**
 * @typedef {{tag: keyof SVGElementTagNameMap, attrs: Object<string, string|number|undefined>, children?: (Shape|string)[]}} Shape  colours and faces
 *   are names of css/tokens.css
 * @typedef {{x: number, y: number, w: number, h: number}} Rect
 * @typedef {{x: number, y: number, width: number, height: number, rx?: number}} Area
 */

/** With more cells than this a file has them as an image. */
const MANY = 4096;

/**
 * How many pixels an image in a file has per pixel of the page: as a PNG (raster.js) or the screen, whichever has more.
 */
export const finest = (/** @type {number} */ dpr) => Math.max(2, dpr);

/** The pixels of an image in a file: rows, columns. @param {Pick<Size, "box"|"dpr">} size @returns {[number, number]} */
export const roomOf = ({ box, dpr }) => [finest(dpr) * box.h, finest(dpr) * box.w];

/** Whether a file shows only the strongest of several cells in each pixel. @param {Size} size */
export function isPooled(size) {
  const [high, wide] = roomOf(size);
  return size.view.rows > high || size.view.cols > wide;
}

/** Labels and marks. @param {Matrix} matrix @param {Size} size @returns {Shape[]} */
export function overlayShapes(matrix, size) {
  return [...markShapes(matrix, size), ...labelShapes(matrix, size)];
}

/**
 * The whole picture; `cells` and `labels` are separate groups.
 * @param {Matrix} matrix @param {Size} size
 * @param {{id: string, image: () => string}} file  `id` is unique in the file; `image`: the cells as a data URL
 * @returns {Shape}
 */
export function fileShape(matrix, size, { id, image }) {
  const { box, view } = size;
  const area = { x: box.x, y: box.y, width: box.w, height: box.h };
  const hatch = (matrix.hatched ?? matrix.forbidden) ? `url(#${id}-hatch)` : "none";
  const many = view.rows * view.cols > MANY || isPooled(size);
  const cells = many
    ? [rectShape("hatching", area, { fill: hatch }), imageShape(area, image())]
    : [...cellShapes(matrix, size, hatch), ...numberShapes(matrix, size)];
  const inside = /** @type {Shape} */ ({ tag: "rect", attrs: grownBy(area, 2) });
  const clip = /** @type {Shape} */ ({ tag: "clipPath", attrs: { id: `${id}-clip` }, children: [inside] });
  return group("matrix", [
    { tag: "defs", attrs: {}, children: [clip, ...(hatch === "none" ? [] : [patternShape(id, size)])] },
    group("clip", [group("cells", [...cells, ...markShapes(matrix, size)])], { "clip-path": `url(#${id}-clip)` }),
    group("labels", labelShapes(matrix, size)),
  ]);
}

/** A rectangle for each cell that is seen, in its colour; forbidden ones are hatched. @param {Matrix} matrix @param {Size} size @param {string} hatch @returns {Shape[]} */
export function cellShapes(matrix, size, hatch) {
  const { gap, corner } = cellGap(size.cell);
  return cellsIn(size.view).flatMap((cell) => {
    const at = cell.row * matrix.shape[1] + cell.col;
    const { x, y, w, h } = boxOf(cell, size);
    const place = { x: x + gap, y: y + gap, width: w - 2 * gap, height: h - 2 * gap, ...(corner && { rx: corner }) };
    const below = rectShape("hatching", place, { fill: hatch });
    const reason = matrix.forbidden?.[at];
    if (reason)
      return matrix.tints ? [below, rectShape("tint", place, paintOf(onlyOf(matrix.tints[reason]), 0))] : [below];
    const colour = rectShape("cell", place, paintOf(matrix.scale, (matrix.tones ?? matrix.values)[at]));
    return matrix.hatched ? [below, colour] : [colour];
  });
}

/** A scale of one colour. @param {string} colour */
const onlyOf = (colour) => ({ stops: [colour, colour], min: 0, max: 1 });

/** @param {Parameters<typeof colourAt>[0]} scale @param {number} value */
function paintOf(scale, value) {
  const [red, green, blue, alpha] = colourAt(scale, value);
  return { fill: rgb([red, green, blue]), ...(alpha < 255 && { "fill-opacity": alpha / 255 }) };
}

/** @param {Matrix} matrix @param {Size} size @returns {Shape[]} */
function numberShapes(matrix, size) {
  const { size: usual, numbers } = numbersOf(matrix, size);
  const look = { class: "number", "font-family": "--mono", "font-size": usual, "text-anchor": "middle" };
  return numbers.map(({ x, y, text, ink, size: font = usual }) => ({
    tag: "text",
    attrs: { ...look, x, y: y + font * 0.35, fill: ink, "font-size": font },
    children: [text],
  }));
}

/** @param {string} name @param {Area} place @param {{fill: string, "fill-opacity"?: number}} paint @returns {Shape} */
const rectShape = (name, place, paint) => ({ tag: "rect", attrs: { class: name, ...place, ...paint } });

/** @param {Area} area @param {string} href @returns {Shape} */
function imageShape(area, href) {
  return { tag: "image", attrs: { ...area, href, preserveAspectRatio: "none", style: "image-rendering: pixelated" } };
}

/** @param {string} id @param {Size} size @returns {Shape} */
function patternShape(id, { cell }) {
  const { step, stroke } = hatchOf(cell);
  const lines = { d: HATCH(step), fill: "none", stroke: "--line-2", "stroke-width": stroke };
  const attrs = { id: `${id}-hatch`, width: step, height: step, patternUnits: "userSpaceOnUse" };
  return { tag: "pattern", attrs, children: [{ tag: "path", attrs: lines }] };
}

/** @param {string} name @param {Shape[]} children @returns {Shape} */
const group = (name, children, attrs = {}) => ({ tag: "g", attrs: { class: name, ...attrs }, children });

/** @param {Area} area @param {number} by */
const grownBy = ({ x, y, width, height }, by) => ({
  x: x - by,
  y: y - by,
  width: width + 2 * by,
  height: height + 2 * by,
});
