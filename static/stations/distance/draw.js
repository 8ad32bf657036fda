/** The learned numbers about positions: the tables of relative positions, or the bias w. */

import { drawMatrix } from "../../chart/matrix/matrix.js";
import { legendOf, signedScale } from "../../chart/matrix/scale.js";
import { has, identityOf, parameterOf } from "../../model/description.js";
import { headOf } from "../../model/identities.js";
import { cellIn } from "../../model/matrix.js";
import { position } from "../../model/selection.js";
import { checkOf } from "../../ui/agreement.js";
import { h, perRoot, replace } from "../../ui/dom.js";
import { number, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { math, mi, mo, mtext, row, sub, sup } from "../../ui/mathml.js";
import { namedLabel } from "../../ui/token_text.js";
import { buildLayerStation, drawStrip, nameOfPart, part } from "../activation_parts.js";
import { counting } from "../dimension_pages.js";
import { labelsOf } from "../query_key.js";
import { formulaOf } from "../role_formulas.js";
import { biasByDistance, biasByPosition, distancesOf } from "./learned.js";

const partsOf = perRoot((root) => {
  const parts = buildLayerStation(root);
  const [first, second] = [part("first"), part("second")];
  const line = h("p", { class: "act-sum", dataset: { testid: "distance-check" } });
  parts.body.append(first.element, second.element, line);
  return { ...parts, first, second, line };
});

export function draw(root, trace, state, actions) {
  const parts = partsOf(root);
  const learned = (name) => trace.weight(parameterOf(trace.attention, state.layer, name) ?? "");
  const [kind, show] = KINDS.find(([name]) => learned(name)) ?? KINDS[0];
  const { formula, pictures } = show(trace, state, learned, actions);
  drawStrip(parts, t("distance.title", { layer: state.layer }), { formula, note: t(`distance.note.${kind}`) });
  [parts.first, parts.second].forEach((place, i) => {
    place.element.hidden = !pictures[i];
    if (pictures[i]) drawPicture(place, pictures[i], state);
  });
  drawLine(parts.line, trace, state, pictures[0]);
}

/** The bias of the chosen pair, made here from what was learned, beside the one that the model used. */
function drawLine(root, trace, state, { matrix, chosen, beyond = false }) {
  const { attention, queries, keys } = trace;
  root.hidden = !has(attention, "position_bias");
  if (root.hidden) return;
  const { query, key } = position(state, trace);
  const { dims } = attention.roles.position_bias;
  const own = cellIn(headOf(trace.role("position_bias", state.layer), state.head, attention.n_head, dims), query, key);
  const value = beyond ? 0 : cellIn(matrix, chosen[0], chosen[1]);
  const tokens = {
    query: namedLabel(labelsOf(queries.tokens)[query], "q", query),
    key: namedLabel(labelsOf(keys.tokens)[key], "k", key),
  };
  replace(
    root,
    phrase("distance.pair", { ...tokens, value: h("b", { class: "mono" }, significant(value)) }),
    " ",
    checkOf(value, own),
  );
}

/** By the parameter that says which it is. @type {[string, (trace: any, state: any, learned: (name: string) => any, actions: any) => {formula: any, pictures: any[]}][]} */
const KINDS = [
  ["table_k", tables],
  ["kernel", kernel],
  ["bias_query", factors],
];

/** a^K and a^V, a row for each distance; that of the chosen pair is marked. */
function tables(trace, state, learned, actions) {
  const { query, key } = position(state, trace);
  const of = (name, letter) => {
    const matrix = learned(name);
    const distances = distancesOf(matrix.shape[0]);
    const most = distances[distances.length - 1];
    const places = trace.keys.positionIds;
    const apart = Math.max(-most, Math.min(most, places[key] - places[query]));
    const rows = distances.map((one) =>
      t(Math.abs(one) === most ? "distance.row_end" : "distance.row", { n: signedDistance(one) }),
    );
    return {
      id: name,
      title: math(sup(mi("a"), mi(letter))),
      about: t(`distance.${name}`),
      matrix,
      rows,
      cols: counting(0, matrix.shape[1]),
      axes: [t("distance.axis"), t("matrix.dimension_axis")],
      chosen: [apart + most, Math.min(state.cell?.[1] ?? 0, matrix.shape[1] - 1)],
      choose: (_, d) => actions.set({ cell: [query, d] }),
      span: /** @type {const} */ ("row"),
    };
  };
  const formula = ["scores", "z"].map((role) => formulaOf(identityOf(trace.attention, role), role));
  return { formula, pictures: [of("table_k", "K"), of("table_v", "V")] };
}

const signedDistance = (one) => (one > 0 ? `+${one}` : String(one).replace("-", "−"));

/** AFT-conv: w of each head by distance. */
function kernel(trace, state, learned, actions) {
  const matrix = biasByDistance(learned("kernel"), learned("gamma").data, learned("beta").data);
  const { query, key } = position(state, trace);
  const places = trace.keys.positionIds;
  const between = places[query] - places[key];
  const apart = Math.max(0, Math.min(matrix.shape[1] - 1, between));
  const index = (name) => sub(mi(name), mi("h"));
  const formula = math(
    index("w"),
    mo("="),
    index("γ"),
    mtext("("),
    index("w′"),
    mo("−"),
    mi("mean"),
    mtext(")"),
    mo("/"),
    mi("std"),
    mo("+"),
    index("β"),
  );
  const picture = {
    id: "kernel",
    title: t("distance.kernel"),
    about: t("distance.kernel_about", { n: matrix.shape[1] }),
    matrix,
    rows: Array.from({ length: matrix.shape[0] }, (_, head) => t("heads.head", { n: head })),
    cols: counting(0, matrix.shape[1]),
    axes: [t("distance.heads"), t("distance.back")],
    chosen: [state.head, apart],
    beyond: between !== apart,
    choose: (head, distance) => actions.set({ head, ...(query >= distance && { key: query - distance, query }) }),
  };
  return { formula, pictures: [picture] };
}

/** AFT-full and -local: w of each pair of positions in the window, the sentence's part within dashed lines. */
function factors(trace, state, learned, actions) {
  const places = trace.keys.positionIds;
  const [u, v] = [learned("bias_query"), learned("bias_key")];
  const isLocal = trace.attention.kind.endsWith("local");
  const matrix = biasByPosition(u, v, isLocal ? trace.model.reach : Infinity);
  const { query, key } = position(state, trace);
  const n = trace.queries.tokens.length;
  const formula = math(
    sub(mi("w"), row(mi("t"), mi("i"))),
    mo("="),
    sub(mi("u"), mi("t")),
    mo("·"),
    sub(mi("v"), mi("i")),
  );
  const picture = {
    id: "window",
    title: t("distance.window", { n: matrix.shape[0] }),
    about: t("distance.window_about"),
    matrix,
    square: true,
    rows: counting(0, matrix.shape[0]),
    cols: counting(0, matrix.shape[0]),
    axes: [t("matrix.query_rows"), t("distance.key_positions")],
    chosen: [places[query], places[key]],
    edges: { row: n, col: n },
    outside: Uint8Array.from(matrix.data, (w) => (w === 0 ? 1 : 0)),
    choose: (row, col) => row < n && col < n && actions.set({ query: row, key: col }),
  };
  return { formula, pictures: [picture] };
}

/** @param {any} place @param {any} of @param {any} state */
function drawPicture(
  place,
  { id, title, about, matrix, rows, cols, axes, chosen, choose, span = "cell", beyond: _, ...more },
  state,
) {
  const scale = signedScale(matrix.data);
  nameOfPart(place, [title, " ", legendOf(scale, { number: (value) => number(value, 2) })], about);
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
