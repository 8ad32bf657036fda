/** The learned numbers about positions: the tables of relative positions, or the bias w. */

import { drawMatrix } from "../../chart/matrix/matrix.js";
import { scaleLegend, signedScale } from "../../chart/matrix/scale.js";
import { has, parameterOf } from "../../model/description.js";
import { headOf } from "../../model/identities.js";
import { namesIn } from "../../model/labels.js";
import { cellIn } from "../../model/matrix.js";
import { position } from "../../model/selection.js";
import { h, perRoot, replace } from "../../ui/dom.js";
import { checkOf, number, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { namedLabel } from "../../ui/token_text.js";
import { drawLengths } from "../lengths.js";
import { buildLayerStation, drawStationStrip, foldedPart, nameOfPart, part } from "../parts.js";
import { bias, kernel, tables } from "./learned.js";

/**
 * @import { HeadTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Part } from "../parts.js"
 * @import { Actions, HeadDraw } from "../view.js"
 */

// One matrix of learned numbers, with its legend and readout.

/** @param {Part} place @param {Picture} of @param {State} state */
function drawPicture(
  place,
  { id, title, about, matrix, rows, cols, axes, chosen, choose, span = "cell", beyond: _, ...more },
  state,
) {
  const scale = signedScale(matrix.data);
  nameOfPart(place, [title, " ", scaleLegend(scale, { number: (value) => number(value, 2) })], about);
  const at = (/** @type {number} */ row, /** @type {number} */ col) =>
    significant(matrix.data[row * matrix.shape[1] + col], 5);
  drawMatrix(place.place, {
    id,
    label: about,
    values: matrix.data,
    shape: matrix.shape,
    forbidden: null,
    scale,
    cellText: (value) => number(value, 1),
    numbers: true,
    tall: true,
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

/**
 * @typedef {Object} Picture
 * @property {string} id
 * @property {any} title
 * @property {any} about
 * @property {{shape: [number, number], data: Float32Array}} matrix
 * @property {any[]} rows  names
 * @property {any[]} cols  names
 * @property {[string, string]} axes  what the rows and the columns are
 * @property {[number, number]} chosen
 * @property {(row: number, col: number) => void} choose
 * @property {"row"|"cell"} [span]  what of the chosen element is marked
 * @property {boolean} [beyond]  the chosen pair lies beyond what was learned
 * @property {boolean} [square]  these three as `drawMatrix` has them
 * @property {{row: number, col: number}} [edges]
 * @property {Uint8Array} [outside]
 *
 * @typedef {(trace: HeadTrace, state: State, learned: (name: string) => any, actions: Actions) => {formula: any, pictures: Picture[]}} Show
 */

/** What was learned, by the parameter that says which. @type {[string, Show][]} */
const KINDS = [
  ["table_k", tables],
  ["kernel", kernel],
  ["bias_query", bias],
];

const elementsOf = perRoot((root) => {
  const parts = buildLayerStation(root);
  const [first, second, lengths] = [part("first"), part("second"), foldedPart("lengths")];
  const line = h("p", { class: "act-sum", dataset: { testid: "distance-check" } });
  const frame = h("div", { class: "act-columns" }, first.element, second.element);
  parts.body.append(frame, line, lengths.element);
  return { ...parts, first, second, line, lengths };
});

/** @type {HeadDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const learned = (/** @type {string} */ name) => trace.weight(parameterOf(trace.attention, state.layer, name) ?? "");
  const [kind, show] = KINDS.find(([name]) => learned(name)) ?? KINDS[0];
  const { formula, pictures } = show(trace, state, learned, actions);
  drawStationStrip(parts, t("distance.title", { layer: state.layer }), { formula, note: t(`distance.note.${kind}`) });
  [parts.first, parts.second].forEach((place, i) => {
    place.element.hidden = !pictures[i];
    if (pictures[i]) drawPicture(place, pictures[i], state);
  });
  drawLine(parts.line, trace, state, pictures[0]);
  drawLengths(parts.lengths, trace, actions);
}

/**
 * The bias of the chosen pair, made here from what was learned, beside the one that the model used.
 * @param {HTMLElement} root @param {HeadTrace} trace @param {State} state @param {Picture} picture
 */
function drawLine(root, trace, state, { matrix, chosen, beyond = false }) {
  const { attention, queries, keys } = trace;
  root.hidden = !has(attention, "position_bias");
  if (root.hidden) return;
  const { query, key } = position(state, trace);
  const { dims } = attention.roles.position_bias;
  const own = cellIn(headOf(trace.role("position_bias", state.layer), state.head, attention.n_head, dims), query, key);
  const value = beyond ? 0 : cellIn(matrix, chosen[0], chosen[1]);
  const tokens = {
    query: namedLabel(namesIn(queries.tokens)[query], "q"),
    key: namedLabel(namesIn(keys.tokens)[key], "k"),
  };
  replace(
    root,
    phrase("distance.pair", { ...tokens, value: h("b", { class: "mono" }, significant(value)) }),
    " ",
    checkOf(value, own),
  );
}
