/**
 * A matrix as SVG: for the page, what is around and over the cells; for a file, the whole picture. Both start as
 * plain data, so that a test can read them without a browser.
 */

import { rgb } from "../colour.js";
import { labelShapes } from "./labels.js";
import { markShapes } from "./marks.js";
import { cellsIn, numbersOf } from "./numbers.js";
import { boxOf } from "./place.js";
import { colourAt } from "./scale.js";
import { gapOf, HATCH, hatchOf } from "./sheet.js";

/**
 * @import { Size } from "./layout.js"
 * @import { Matrix } from "./matrix.js"
 */

/**
 * @typedef {{tag: string, attrs: Object<string, string|number>, children?: (Shape|string)[]}} Shape  colours and faces
 *   are names of css/tokens.css
 */

/** With more cells than this a file has them as an image. */
const MANY = 4096;

/** How many pixels an image in a file has for one of the page: as many as a PNG (raster.js), or as the screen. */
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
 * The whole picture; `cells` and `labels` are groups of their own.
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
  const clip = { tag: "clipPath", attrs: { id: `${id}-clip` }, children: [{ tag: "rect", attrs: grownBy(area, 2) }] };
  return group("matrix", [
    { tag: "defs", attrs: {}, children: [clip, ...(hatch === "none" ? [] : [patternShape(id, size)])] },
    group("clip", [group("cells", [...cells, ...markShapes(matrix, size)])], { "clip-path": `url(#${id}-clip)` }),
    group("labels", labelShapes(matrix, size)),
  ]);
}

/** A rectangle for each cell that is seen, in its colour; forbidden ones are hatched. @param {Matrix} matrix @param {Size} size @param {string} hatch @returns {Shape[]} */
export function cellShapes(matrix, size, hatch) {
  const { gap, corner } = gapOf(size.cell);
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

function numberShapes(matrix, size) {
  const { size: font, numbers } = numbersOf(matrix, size);
  const look = { class: "number", "font-family": "--mono", "font-size": font, "text-anchor": "middle" };
  return numbers.map(({ x, y, text, ink }) => ({
    tag: "text",
    attrs: { ...look, x, y: y + font * 0.35, fill: ink },
    children: [text],
  }));
}

/** @returns {Shape} */
const rectShape = (name, place, paint) => ({ tag: "rect", attrs: { class: name, ...place, ...paint } });

/** @returns {Shape} */
function imageShape(area, href) {
  return { tag: "image", attrs: { ...area, href, preserveAspectRatio: "none", style: "image-rendering: pixelated" } };
}

/** @returns {Shape} */
function patternShape(id, { cell }) {
  const { step, stroke } = hatchOf(cell);
  const line = { tag: "path", attrs: { d: HATCH(step), fill: "none", stroke: "--line-2", "stroke-width": stroke } };
  const attrs = { id: `${id}-hatch`, width: step, height: step, patternUnits: "userSpaceOnUse" };
  return { tag: "pattern", attrs, children: [line] };
}

/** @param {string} name @param {Shape[]} children @returns {Shape} */
const group = (name, children, attrs = {}) => ({ tag: "g", attrs: { class: name, ...attrs }, children });

const grownBy = ({ x, y, width, height }, by) => ({
  x: x - by,
  y: y - by,
  width: width + 2 * by,
  height: height + 2 * by,
});
