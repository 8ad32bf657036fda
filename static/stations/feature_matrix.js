/** A matrix with a row for each token and a column for each feature of the open head, as the stations of AFT and RWKV show them. */

import { drawMatrix } from "../chart/matrix/matrix.js";
import { scaleLegend, signedScale } from "../chart/matrix/scale.js";
import { position } from "../model/selection.js";
import { h } from "../ui/dom.js";
import { number, significant } from "../ui/format.js";
import { headLabel, headParts } from "../ui/heads.js";
import { phrase, t } from "../ui/i18n.js";
import { namedLabel } from "../ui/token_text.js";
import { nameOfPart } from "./activation_parts.js";
import { counting } from "./dimension_pages.js";
import { labelsOf } from "./query_key.js";

/**
 * @import { Scale } from "../chart/matrix/scale.js"
 * @import { Patch } from "../state/store.js"
 */

/**
 * @typedef {Object} FeatureMatrix
 * @property {string} id @property {any} title @property {{shape: number[], data: any}} matrix  [token feature]
 * @property {number} feature  the followed one
 * @property {Scale} [scale] @property {Uint8Array|null} [forbidden]  hatched @property {Float32Array} [tones]
 * @property {(value: number) => string} [cellText] @property {string[]} [labels]  other rows than the queries
 * @property {(row: number, col: number) => string} [say]  one number in words
 * @property {number} [row]  the chosen row; by default the query
 * @property {(row: number, col: number) => Patch} [choice]
 */

/**
 * @param {ReturnType<typeof import("./activation_parts.js").part>} place @param {any} trace @param {any} state @param {any} actions @param {FeatureMatrix} of
 */
export function drawFeatureMatrix(place, trace, state, actions, of) {
  const { id, title, matrix, feature, labels = labelsOf(trace.queries.tokens), forbidden = null } = of;
  const { query } = position(state, trace);
  const [rows, features] = matrix.shape;
  const scale = of.scale ?? signedScale(matrix.data);
  const own = (row, col) => (of.say ? of.say(row, col) : significant(matrix.data[row * features + col], 5));
  const hatching = forbidden ? t("matrix.forbidden_word") : null;
  nameOfPart(
    place,
    title,
    scaleLegend(scale, { number: (value) => number(value, 2), forbidden: of.tones ? null : hatching }),
  );
  drawMatrix(place.place, {
    id,
    label: t("av.label", { of: headLabel(trace.model, state), name: id, n: rows, d_head: features }),
    values: matrix.data,
    shape: /** @type {[number, number]} */ ([rows, features]),
    forbidden,
    ...(of.tones ? { tones: of.tones } : {}),
    rows: { labels, title: of.labels ? "" : t("matrix.query_rows"), role: of.labels ? "" : "q" },
    cols: { labels: counting(0, features), title: t("matrix.dimension_axis"), role: "" },
    scale,
    cellText: of.cellText ?? ((value) => number(value, 1)),
    hover: (row, col) => [`${labels[row]} [${col}]`, own(row, col)],
    describe: (row, col) =>
      phrase("av.readout", {
        token: of.labels ? labels[row] : namedLabel(labels[row], "q", row),
        dimension: col,
        words: h("b", { class: "mono" }, own(row, col)),
      }),
    chosen: { row: of.row ?? query, col: Math.min(feature, features - 1), span: "row", role: "q" },
    onChoose: (row, col) => actions.set(of.choice?.(row, col) ?? { query: row, cell: [row, col] }),
    filename: ["chumoku", ...headParts(trace.model, state), id].join("-"),
  });
}
