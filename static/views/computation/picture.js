/** The matrices of a step, drawn to one scale, each with its name, its true size and its true extremes. */

import { framedMatrix, framedSize } from "../../chart/matrix/nodes.js";
import { scaleLegend, signedScale, weightScale } from "../../chart/matrix/scale.js";
import { drawSheet } from "../../chart/matrix/sheet.js";
import { currentTheme, typeScale } from "../../chart/theme.js";
import { shortLabel } from "../../model/labels.js";
import { h, replace, update } from "../../ui/dom.js";
import { cellWeight, integer, number, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { asText, math } from "../../ui/mathml.js";
import { cachedMatrix } from "./matrices.js";

/**
 * @import { Scale } from "../../chart/matrix/scale.js"
 * @import { Place } from "../../chart/matrix/view.js"
 * @import { Picture as SavedPicture } from "../../chart/pictures.js"
 * @import { Box, Layout } from "./layout.js"
 * @import { Mat, Picture } from "./product.js"
 * @import { Step } from "./steps.js"
 */

// The colours of a step's matrices.

/**
 * The colours of a matrix: the same for each of its parts, from the extremes of its visible numbers.
 * @param {Mat} mat
 */
function scaleOfMatrix({ matrix, ramp = "signed", forbidden }) {
  return cachedMatrix(matrix, [ramp, currentTheme(), forbidden ? "allowed" : "all"].join(" "), () => {
    const data = /** @type {Float32Array} */ (forbidden ? matrix.data.filter((_, i) => !forbidden[i]) : matrix.data);
    const signed = signedScale(data.length ? data : new Float32Array(1));
    return ramp === "weights" ? { ...weightScale(), seen: signed.seen } : signed;
  });
}

/** Cells at least this wide show their numbers: "13.1", "13.07". */
const WIDE = { zero: 12, weights: 26, signed: 32, fine: 42 };
/** Rows at least this high have their names next to them. */
const LEGIBLE = 13;

/**
 * @typedef {{mat: Mat, box: Box, label: string, beside: number, figure: HTMLElement, held: HTMLElement, frame: HTMLElement, lit: HTMLElement, rowName: HTMLElement|null, colName: HTMLElement|null}} Drawn
 *   `label`: the matrix in words; `beside`: the pixels of its rows' names, in `held` with the cells
 */

/**
 * Redraw all matrices. @param {HTMLElement} root @param {Picture} picture
 * @param {Layout} layout
 * @returns {{drawn: Drawn[], pooled: boolean}}
 */
export function drawMats(root, picture, layout) {
  let pooled = false;
  const drawn = picture.mats.map((mat, i) => {
    const one = buildMat(mat, layout.boxes[i], hasLabels(layout, i) ? layout.labels : 0, mat === picture.result);
    pooled = drawSheet(one.canvas, sheetOf(mat), cellPlace(mat, one.box)) || pooled;
    return one;
  });
  root.className = `mats ${layout.arrangement}${layout.aside ? " aside" : ""}`;
  replace(
    root,
    drawn.map(({ figure }) => figure),
  );
  return { drawn, pooled };
}

/**
 * Matrices side by side share the names of the first; stacked ones have their own.
 * @param {Layout} layout @param {number} index
 */
function hasLabels({ arrangement }, index) {
  if (arrangement === "column") return true;
  return arrangement === "pairs" ? index % 2 === 0 : index === 0;
}

/** @param {Mat} mat @param {Box} box @param {number} labels @param {boolean} isResult */
function buildMat(mat, box, labels, isResult) {
  const scale = scaleOfMatrix(mat);
  const name = mat.name();
  const [rows, cols] = mat.matrix.shape;
  const words = t("computation.matrix", {
    name: name.textContent ?? "",
    rows,
    cols: mat.whole ?? cols,
    low: number(scale.seen[0], 3),
    high: number(scale.seen[1], 3),
  });
  const canvas = h("canvas", {
    role: "img",
    "aria-label": words,
    style: { width: `${box.width}px`, height: `${box.height}px` },
  });
  const lit = h("i", { class: "lit" });
  const band =
    mat.band &&
    h("i", {
      class: "band",
      style: { left: `${(mat.band[0] / cols) * 100}%`, width: `${((mat.band[1] - mat.band[0]) / cols) * 100}%` },
    });
  const colName = isResult ? h("span", { class: "col-name" }) : null;
  const frame = h(
    "div",
    { class: `frame ${mat.role ?? ""}`, style: { width: `${box.width}px`, height: `${box.height}px` } },
    canvas,
    band,
    lit,
    colName,
  );
  const rowName = labels && mat.rows ? h("span", { class: "row-name" }) : null;
  const gutter = labels
    ? h("div", { class: "gutter", style: { width: `${labels}px` }, "aria-hidden": true }, namesOf(mat, box), rowName)
    : null;
  const held = h("div", { class: "held" }, gutter, frame);
  const figure = h(
    "figure",
    { class: `mat mat-${mat.id}`, dataset: { mat: mat.id } },
    captionOf(mat, name, scale),
    held,
  );
  if (isResult) update(figure, { dataset: { testid: "computation-result" } });
  return { mat, box, label: words, beside: labels, figure, held, frame, canvas, lit, rowName, colName };
}

/**
 * The name, "10 × 256", and the colours from the smallest to the largest.
 * @param {Mat} mat @param {Node} name @param {Scale} scale
 */
function captionOf({ op, matrix: { shape }, whole, role, learned, legend }, name, scale) {
  const size = t(whole ? "computation.size_of" : "computation.size", {
    rows: integer(shape[0]),
    cols: integer(shape[1]),
    whole: integer(whole ?? 0),
  });
  return h(
    "figcaption",
    null,
    op && h("span", { class: "op" }, op),
    h("b", { class: role || null }, math(name)),
    h("span", { class: "size mono" }, size),
    learned && h("span", { class: "learned" }, t("computation.learned")),
    legend ? h("span", { class: "legend" }, legend) : scaleLegend(scale, { number: (value) => number(value, 2) }),
  );
}

/** The tokens' names, if the rows are high enough. @param {Mat} mat @param {Box} box */
function namesOf({ rows }, { from, count, step, height }) {
  if (!rows || count === 1 || step < LEGIBLE) return null;
  const at = (/** @type {number} */ row) => ({ top: `${((row + 0.5) / count) * height}px` });
  return rows.slice(from, from + count).map((label, row) => h("span", { style: at(row) }, shortLabel(label, 11)));
}

/**
 * The contents of the canvas, with numbers if rows are high and cells wide enough.
 * @param {Mat} mat
 */
function sheetOf(mat) {
  const { matrix, ramp = "signed", forbidden = null, legend } = mat;
  /** @param {number} value @param {{w: number, h: number}} cell */
  const cellText = (value, { w, h }) => {
    if (h < LEGIBLE || w < WIDE[legend ? "zero" : ramp]) return "";
    if (legend) return String(value);
    return ramp === "weights" ? cellWeight(value) : number(value, w < WIDE.fine ? 1 : 2);
  };
  const shape = /** @type {[number, number]} */ (matrix.shape);
  return { values: matrix.data, shape, forbidden, scale: scaleOfMatrix(mat), numbers: true, cellText };
}

/**
 * Where its cells lie within its frame.
 * @param {Mat} mat @param {Box} box @returns {Place & {dpr: number}}
 */
export function cellPlace({ matrix }, { from, count, width, height, step }) {
  const cols = matrix.shape[1];
  return {
    box: { x: 0, y: 0, w: width, h: height },
    cell: { w: width / cols, h: step },
    view: { row: from, col: 0, rows: count, cols },
    dpr: devicePixelRatio,
  };
}

// A matrix of the walk for the export menu: its picture with what is highlighted in it, and its numbers.

/**
 * @param {Drawn} drawn @param {Step} step
 * @param {[row: number, col: number]} cell  the chosen element of the result
 * @returns {SavedPicture}
 */
export function savedAs({ mat, box, beside, held, label }, step, [row, col]) {
  const { rows, cols, whose, op, band, legend } = mat;
  const lit = col < 0 ? {} : mat.lit(row, col);
  const [nRows, nCols] = mat.matrix.shape;
  const labels = { rows: rows ?? numbered(nRows), cols: cols ?? numbered(nCols), named: beside > 0 && Boolean(rows) };
  const sheet = sheetOf(mat);
  const own = {
    ...sheet,
    id: `${step.kind}-${mat.id}`,
    title: asText(mat.name()),
    label,
    values: valuesOf(mat),
    corner: `${rows ? "token" : "row"} \\ ${cols ? "token" : "column"}`,
    hover: (/** @type {number} */ r, /** @type {number} */ c) => wordsOf(sheet, labels, r, c),
    lit,
    band,
    sign: op,
    legend,
  };
  const content = framedMatrix(own, labels);
  content.rows.role = whose === "key" ? "k" : "q";
  content.chosen.row = lit.row ?? -1; // its label is highlighted
  const rowText = labels.rows.map((one) => shortLabel(one, 11));
  return {
    kind: "matrix",
    content,
    size: framedSize(cellPlace(mat, box), { beside, rowText, type: typeScale() }),
    plot: held,
  };
}

const numbered = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => String(i));

/** What S + M is in forbidden cells: −∞. @param {Mat} mat */
const valuesOf = ({ matrix, masked, forbidden }) =>
  masked && forbidden ? matrix.data.map((value, at) => (forbidden[at] ? -Infinity : value)) : matrix.data;

/**
 * One element, in lines.
 * @param {ReturnType<typeof sheetOf>} sheet @param {{rows: string[], cols: string[]}} labels @param {number} row @param {number} col
 */
function wordsOf({ values, shape, forbidden }, { rows, cols }, row, col) {
  const at = row * shape[1] + col;
  return [`${rows[row]}, ${cols[col]}`, forbidden?.[at] ? t("matrix.forbidden_word") : significant(values[at])];
}
