/** What a mechanism learned about positions, as matrices. No DOM. */

import { identityOf } from "../../model/description.js";
import { position } from "../../model/selection.js";
import { t } from "../../ui/i18n.js";
import { math, mi, mo, mtext, row, sub, sup } from "../../ui/mathml.js";
import { counting } from "../dimension_pages.js";
import { equationOf } from "../formulas.js";

/**
 * @import { Attention } from "../../model/description.js"
 * @import { Picture, Show } from "./draw.js"
 */

/** @typedef {{shape: number[], data: ArrayLike<number>}} Tensor  @typedef {{shape: [number, number], data: Float32Array}} Matrix */

/**
 * The bias of AFT-conv for each head and distance: γ (w − mean) / std + β (Zhai et al. 2021, section 3.2).
 * @param {Tensor} kernel  [head distance] @param {ArrayLike<number>} gamma @param {ArrayLike<number>} beta @returns {Matrix}
 */
function biasByDistance({ shape: [heads, s], data }, gamma, beta) {
  const out = new Float32Array(heads * s);
  for (let head = 0; head < heads; head++) {
    const own = Array.from({ length: s }, (_, distance) => data[head * s + distance]);
    const mean = own.reduce((one, other) => one + other, 0) / s;
    const std = Math.sqrt(own.reduce((one, other) => one + (other - mean) ** 2, 0) / s);
    own.forEach((w, distance) => {
      out[head * s + distance] = (gamma[head] * (w - mean)) / std + beta[head];
    });
  }
  return { shape: [heads, s], data: out };
}

/**
 * The bias of AFT-full for each pair of positions in the window: w = u vᵀ. With a reach, AFT-local's: 0 at that distance or more.
 * @param {Tensor} u  [position rank] @param {Tensor} v @param {number} [reach] @returns {Matrix}
 */
export function biasByPosition({ shape: [n, rank], data: u }, { data: v }, reach = Infinity) {
  const out = new Float32Array(n * n);
  for (let t = 0; t < n; t++)
    for (let i = 0; i < n; i++) {
      if (Math.abs(t - i) >= reach) continue;
      let dot = 0;
      for (let r = 0; r < rank; r++) dot += u[t * rank + r] * v[i * rank + r];
      out[t * n + i] = dot;
    }
  return { shape: [n, n], data: out };
}

/** The distances of a table's rows: −n … n. @param {number} rows */
const distancesOf = (rows) => Array.from({ length: rows }, (_, row) => row - (rows - 1) / 2);

// Relative positions: the tables a^K and a^V (Shaw et al. 2018), a row for each distance; that of the chosen pair is marked.

/** @type {Show} */
export function tables(trace, state, learned, actions) {
  const { query, key } = position(state, trace);
  /** @param {string} name @param {string} letter @returns {Picture} */
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
      about: trace.attention.causal ? `${t(`distance.${name}`)} ${t("distance.later")}` : t(`distance.${name}`),
      matrix,
      rows,
      cols: counting(0, matrix.shape[1]),
      axes: [t("distance.axis"), t("matrix.dimension_axis")],
      chosen: [apart + most, Math.min(state.cell?.[1] ?? 0, matrix.shape[1] - 1)],
      choose: (_, d) => actions.set({ cell: [query, d] }),
      span: "row",
    };
  };
  const formula = ["scores", "z"].map((role) => equationOf(identityOf(trace.attention, role), role));
  return { formula, pictures: [of("table_k", "K"), of("table_v", "V")] };
}

const signedDistance = (/** @type {number} */ one) => (one > 0 ? `+${one}` : String(one).replace("-", "−"));

// AFT-conv: w of each head by distance (Zhai et al. 2021, section 3.2).

/** @type {Show} */
export function kernel(trace, state, learned, actions) {
  const matrix = biasByDistance(learned("kernel"), learned("gamma").data, learned("beta").data);
  const { query, key } = position(state, trace);
  const places = trace.keys.positionIds;
  const between = places[query] - places[key];
  const apart = Math.max(0, Math.min(matrix.shape[1] - 1, between));
  const index = (/** @type {string} */ name) => sub(mi(name), mi("h"));
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
  /** @type {Picture} */
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

// AFT-full and -local: w of each pair of positions in the window, the sentence's part within dashed lines.

/** @type {Show} */
export function bias(trace, state, learned, actions) {
  const places = trace.keys.positionIds;
  const [u, v] = [learned("bias_query"), learned("bias_key")];
  const matrix = biasByPosition(u, v, trace.attention.bias_reach);
  const { query, key } = position(state, trace);
  const n = trace.queries.tokens.length;
  const formula = math(
    sub(mi("w"), row(mi("t"), mi("i"))),
    mo("="),
    sub(mi("u"), mi("t")),
    mo("·"),
    sub(mi("v"), mi("i")),
  );
  /** @type {Picture} */
  const picture = {
    id: "window",
    title: t("distance.window", { n: matrix.shape[0] }),
    about: aboutOf(trace.attention),
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

/** What the lines mean: only a window has an edge. @param {Attention} attention */
function aboutOf({ bias_reach: reach, causal }) {
  const lines = t(reach ? "distance.window_about" : "distance.window_whole");
  return causal ? `${lines} ${t("distance.window_later")}` : lines;
}
