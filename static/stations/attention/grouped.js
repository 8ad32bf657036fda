/** The matrix of the open head over characters or words. Keys are summed and queries averaged, as its axes say. */

import { drawMatrix } from "../../chart/matrix/matrix.js";
import { weightScale } from "../../chart/matrix/scale.js";
import { cellWeight, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { namedLabel } from "../../ui/token_text.js";
import { reasonOf } from "../query_key.js";
import { unitCells } from "./unit_cells.js";

/**
 * @import { Detail, ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../index.js"
 */

/**
 * @param {HTMLElement} root @param {ModelTrace} trace
 * @param {State} state @param {Actions} actions
 */
export function drawGroupedWeights(root, trace, state, actions) {
  const units = unitCells(trace, state);
  const { values, shape, forbidden } = units.cells(/** @type {Detail} */ (trace.detail).overview.data);
  const [rows, cols] = [units.rows.labels, units.cols.labels];
  const size = ({ groups }, i) => groups[i].end - groups[i].start;
  const at = (row, col) => row * shape[1] + col;
  const words = (row, col) => {
    if (forbidden?.[at(row, col)]) return t("matrix.forbidden", { reason: reasonOf(forbidden[at(row, col)]) });
    const value = significant(values[at(row, col)]);
    return t("groups.weight", { value, keys: size(units.cols, col), queries: size(units.rows, row) });
  };
  drawMatrix(root, {
    id: `weights-${units.unit}`,
    title: t(`groups.title_${units.unit}`),
    label: t("groups.label", {
      layer: state.layer,
      head: state.head,
      unit: t(`groups.${units.unit}`),
      rows: rows.length,
      cols: cols.length,
    }),
    values,
    shape,
    forbidden,
    rows: { labels: rows, title: t(`groups.rows_${units.unit}`), role: "q" },
    cols: { labels: cols, title: t(`groups.cols_${units.unit}`), role: "k" },
    scale: weightScale(),
    cellText: cellWeight,
    hover: (row, col) => [`${rows[row]} → ${cols[col]}`, words(row, col)],
    tableText: (row, col) =>
      forbidden?.[at(row, col)] ? t("matrix.forbidden_word") : significant(values[at(row, col)]),
    describe: (row, col) =>
      phrase("matrix.cell", {
        query: namedLabel(rows[row], "q", row),
        key: namedLabel(cols[col], "k", col),
        words: words(row, col),
      }),
    chosen: { row: units.chosen.q, col: units.chosen.k, span: "cell", role: "q" },
    onChoose: (row, col) => actions.set(units.choose(row, col)),
    square: true,
    sums: true,
    filename: `chumoku-layer${state.layer}-head${state.head}-weights-${units.unit}`,
  });
}
