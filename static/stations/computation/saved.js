/** A matrix of the walk as the export menu takes it: its picture with what is lit in it, and its numbers. */

import { framedMatrix, framedSize } from "../../chart/matrix/nodes.js";
import { typeScale } from "../../chart/theme.js";
import { shortLabel } from "../../model/labels.js";
import { significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { asText } from "../../ui/mathml.js";
import { placeOf, sheetOf } from "./picture.js";

/**
 * @import { Picture } from "../../chart/pictures.js"
 * @import { Drawn } from "./picture.js"
 * @import { Mat } from "./product.js"
 * @import { Step } from "./steps.js"
 */

/**
 * @param {Drawn} drawn @param {Step} step
 * @param {[row: number, col: number]} cell  the chosen element of the result
 * @returns {Picture}
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
    size: framedSize(placeOf(mat, box), { beside, rowText, type: typeScale() }),
    plot: held,
  };
}

const numbered = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => String(i));

/** What S + M is in forbidden cells: −∞. @param {Mat} mat */
const valuesOf = ({ matrix, masked, forbidden }) =>
  masked && forbidden ? matrix.data.map((value, at) => (forbidden[at] ? -Infinity : value)) : matrix.data;

/** One element, in lines. */
function wordsOf({ values, shape, forbidden }, { rows, cols }, row, col) {
  const at = row * shape[1] + col;
  return [`${rows[row]}, ${cols[col]}`, forbidden?.[at] ? t("matrix.forbidden_word") : significant(values[at])];
}
