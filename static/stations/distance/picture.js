/** One matrix of learned numbers, with its legend and readout. */

import { drawMatrix } from "../../chart/matrix/matrix.js";
import { scaleLegend, signedScale } from "../../chart/matrix/scale.js";
import { h } from "../../ui/dom.js";
import { number, significant } from "../../ui/format.js";
import { nameOfPart } from "../activation_parts.js";

/**
 * @import { State } from "../../state/store.js"
 * @import { Picture } from "./draw.js"
 */

/** @param {ReturnType<typeof import("../activation_parts.js").part>} place @param {Picture} of @param {State} state */
export function drawPicture(
  place,
  { id, title, about, matrix, rows, cols, axes, chosen, choose, span = "cell", beyond: _, ...more },
  state,
) {
  const scale = signedScale(matrix.data);
  nameOfPart(place, [title, " ", scaleLegend(scale, { number: (value) => number(value, 2) })], about);
  const at = (row, col) => significant(matrix.data[row * matrix.shape[1] + col], 5);
  drawMatrix(place.place, {
    id,
    label: about,
    values: matrix.data,
    shape: matrix.shape,
    forbidden: null,
    scale,
    cellText: (value) => number(value, 1),
    numbers: true,
    rows: { labels: rows, title: axes[0], role: "" },
    cols: { labels: cols, title: axes[1], role: "" },
    hover: (row, col) => [`${rows[row]}, ${cols[col]}`, at(row, col)],
    describe: (row, col) => [`${rows[row]}, ${cols[col]}: `, h("b", { class: "mono" }, at(row, col))],
    chosen: { row: chosen[0], col: chosen[1], span, role: "k" },
    onChoose: choose,
    filename: `chumoku-layer${state.layer}-${id}`,
    ...more,
  });
}
