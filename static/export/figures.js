/** A picture as plain data for a file: a matrix with all its texts, or a plot with its traces. */

import { cssColour } from "../chart/colour.js";
import { linesFigure } from "../chart/lines/figure.js";
import { lookOf } from "../chart/matrix/labels.js";
import { figure } from "../chart/plotly.js";
import { nameOf } from "./station_picture.js";

/**
 * @import { Size } from "../chart/matrix/layout.js"
 * @import { Axis, Matrix } from "../chart/matrix/matrix.js"
 * @import { Picture } from "../chart/pictures.js"
 */

/** A matrix with more cells is in a file as a picture only: the numbers and texts of 300,000 are 15 MB. */
const MANY = 300_000;

/** Whether a file leaves its numbers out. @param {Picture} picture */
export const isTooMany = ({ kind, content }) => kind === "matrix" && content.values.length > MANY;

/** @param {Picture} picture */
export function plainFigure(picture) {
  const { kind, content } = picture;
  const common = { kind, name: nameOf(picture), label: content.label };
  if (kind === "matrix") return { ...common, ...matrixData(content, picture.size, isTooMany(picture)) };
  if (kind === "drawn") return common;
  if (kind === "lines") return { ...common, ...linesFigure(content) };
  const { data, layout } = figure(picture.plot);
  return { ...common, data, layout: { ...layout, dragmode: "zoom" } };
}

/**
 * Its numbers (null where forbidden) and the text of each cell, unless these are too many; and all labels, because more of
 * them fit when zoomed in.
 * @param {Matrix} matrix @param {Size} size
 * @param {boolean} bare  without numbers and texts
 */
function matrixData(
  { values, forbidden, shape, hover, rows, cols, chosen, square },
  { width, height, box, cell, view, font, type, angle, rowText, colText },
  bare,
) {
  const cells = Array.from(bare ? [] : values, (value, at) => (forbidden?.[at] ? null : value));
  const words = cells.map((_, at) => hover(Math.floor(at / shape[1]), at % shape[1]).join("\n"));
  return {
    shape,
    square: Boolean(square),
    values: cells,
    words,
    size: { width, height, box, cell, view, font, type, angle },
    axes: { row: axisOf(rows, rowText, chosen.row), col: axisOf(cols, colText, chosen.col) },
  };
}

/** @param {Axis} axis @param {string[]} texts cut to fit */
function axisOf(axis, texts, chosen) {
  const look = lookOf(axis, chosen);
  const labels = texts.map((text, i) => {
    const { fill, "font-weight": weight = 400 } = /** @type {any} */ (look.of(i));
    return { text, fill: cssColour(fill), weight };
  });
  return { labels: axis.hidden ? [] : labels, always: look.always };
}
