/** The length of the stream at each depth and token, and what each kind of sublayer adds: one matrix at a time. */

import { drawMatrix } from "../../chart/matrix/matrix.js";
import { scaleLegend, signedScale, sizeScale } from "../../chart/matrix/scale.js";
import { normPlace, wordOf } from "../../model/description.js";
import { labelsOf, namesIn } from "../../model/labels.js";
import { inside } from "../../model/sides.js";
import { segment } from "../../ui/controls.js";
import { h, perRoot } from "../../ui/dom.js";
import { number, significant } from "../../ui/format.js";
import { firstKey, phrase, t } from "../../ui/i18n.js";
import { namedLabel } from "../../ui/token_text.js";
import { nameOfPart } from "../parts.js";
import { residualState, STREAM_MEASURES, STREAM_PARTS } from "../view_states.js";

/**
 * @import { Matrix } from "../../chart/matrix/matrix.js"
 * @import { Scale } from "../../chart/matrix/scale.js"
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Part } from "../parts.js"
 * @import { Actions } from "../view.js"
 * @import { InStream, Written } from "./draw.js"
 */

/**
 * @typedef {{kind: string, measure: string, rows: number[][], names: string[], layers: number[], values: Float32Array}} Table
 */

const elementsOf = perRoot((root) => {
  const what = segment(t("residual.what.choose"), STREAM_PARTS, "residual-what", (name) => t(`residual.what.${name}`));
  const measure = segment(t("residual.measure.choose"), STREAM_MEASURES, "residual-measure", (name) =>
    t(`residual.measure.${name}`),
  );
  root.append(what.box, measure.box);
  // Depth 0 and depth 1 belong to the same layer. Which of them was chosen is not part of the page's state.
  return { what, measure, depth: /** @type {number|null} */ (null) };
});

/** @param {Part} place @param {ModelTrace} trace @param {State} state @param {InStream} at @param {Actions} actions */
export function drawStream(place, trace, state, at, actions) {
  const parts = elementsOf(place.tools);
  const written = at.stream.written.map((one) => ({ ...one, word: wordOf(trace.model, one.sublayer) }));
  /** @type {Set<string>} */
  const kinds = new Set(["stream", ...written.map(({ word }) => word)]);
  const asked = residualState.of(state);
  const wish = kinds.has(asked.what) ? asked : { ...asked, what: STREAM_PARTS[0] };
  parts.what.show(
    wish.what,
    (name) => actions.set(residualState.patch({ what: name })),
    (name) => kinds.has(name),
  );
  parts.measure.show(wish.measure, (name) => actions.set(residualState.patch({ measure: name })));
  parts.measure.box.hidden = wish.what === "stream";
  const table = tableOf({ ...at.stream, written }, wish);
  const scale = scaleOf(table.values, table.measure);
  nameOfPart(place, t(`residual.about_${table.kind}`), [
    t(firstKey(`residual.read_${readOf(table, normPlace(at.stack))}`, "residual.read_stream.other")),
    scaleLegend(scale, { number: (value) => number(value, 2) }),
  ]);
  drawTable(place, trace, at, parts, { ...table, scale }, actions);
}

/**
 * What the numbers mean. If a LayerNorm follows the sublayer, it determines the length of what is added.
 * @param {{kind: string, measure: string}} table @param {string|null} place
 */
function readOf({ kind, measure }, place) {
  if (kind === "stream") return `stream.${place}`;
  return measure === "norm" && place === "res-post" ? "norm_res-post" : measure;
}

/**
 * The shown numbers, with the layer and the name of each row.
 * @param {{norm: number[][], written: (Written & {word: string})[]}} stream
 * @param {{what: typeof STREAM_PARTS[number], measure: typeof STREAM_MEASURES[number]}} wish @returns {Table}
 */
function tableOf({ norm, written }, { what, measure }) {
  if (what === "stream") {
    const names = norm.map((_, depth) =>
      depth === 0 ? t("residual.before") : t("residual.after", { layer: depth - 1 }),
    );
    return {
      kind: what,
      measure: "norm",
      rows: norm,
      names,
      layers: norm.map((_, depth) => Math.max(0, depth - 1)),
      values: Float32Array.from(norm.flat()),
    };
  }
  const own = written.filter(({ word }) => word === what);
  const rows = own.map((one) => one[measure]);
  const layers = own.map(({ sublayer }) => sublayer.layer);
  return {
    kind: what,
    measure,
    rows,
    names: layers.map((layer) => t("residual.layer", { layer })),
    layers,
    values: Float32Array.from(rows.flat()),
  };
}

/**
 * Lengths start at 0; a cosine is always between −1 and 1.
 * @param {Float32Array} values @param {string} measure @returns {Scale}
 */
function scaleOf(values, measure) {
  return measure === "cosine" ? { ...signedScale(values), min: -1, max: 1 } : sizeScale(values);
}

/**
 * @param {Part} place @param {ModelTrace} trace @param {InStream} at @param {{depth: number|null}} parts @param {Table & {scale: Scale}} table @param {Actions} actions
 */
function drawTable(place, trace, at, parts, table, actions) {
  const { kind, measure, rows, names, values, scale } = table;
  const [labels, tokens] = [labelsOf(trace.queries.tokens), namesIn(trace.queries.tokens)];
  const [title, unit] = [t(`residual.about_${kind}`), t(`residual.measure.${measure}`)];
  const say = (/** @type {number} */ row, /** @type {number} */ col) => significant(rows[row][col]);
  drawMatrix(place.place, {
    id: kind === "stream" ? "residual" : `residual-${kind}-${measure}`,
    title,
    label: t("residual.label", { what: title, measure: unit, rows: rows.length, cols: tokens.length }),
    values,
    shape: [rows.length, tokens.length],
    forbidden: null,
    rows: { labels: names, title: t("residual.depth_axis"), role: "" },
    cols: {
      labels,
      names: tokens,
      title: t("residual.token_axis"),
      role: "q",
      faded: (col) => !inside(trace.queries.real, col),
    },
    scale,
    wide: true,
    bare: true,
    tall: true,
    numbers: true,
    cellText: (value) => number(value, 1),
    hover: (row, col) => [`${tokens[col]} · ${names[row]}`, `${unit} ${say(row, col)}`],
    describe: (row, col) =>
      phrase("residual.readout", {
        token: namedLabel(tokens[col], "q"),
        depth: names[row],
        measure: unit,
        value: h("b", { class: "mono" }, say(row, col)),
      }),
    ...choiceOf(parts, at, table, actions, () => drawTable(place, trace, at, parts, table, actions)),
    filename: ["chumoku", at.name, "residual", kind, measure].filter(Boolean).join("-"),
  });
}

/**
 * A row is a layer. Layer 0 has two rows; the clicked one is chosen.
 * @param {{depth: number|null}} parts @param {InStream} at @param {Table} table @param {Actions} actions @param {() => void} again
 * @returns {Pick<Matrix, "chosen"|"onChoose">}
 */
function choiceOf(parts, { query, layer }, { layers }, actions, again) {
  const { depth } = parts;
  const row = depth !== null && layers[depth] === layer ? depth : layers.lastIndexOf(layer);
  return {
    chosen: { row, col: query, span: "cell", role: "q" },
    onChoose(depth, col) {
      parts.depth = depth;
      if (layers[depth] === layer && col === query) again();
      else actions.set({ layer: layers[depth], query: col });
    },
  };
}
