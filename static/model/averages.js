/**
 * Several heads as one matrix: the mean or the largest of their weights, over the heads of a layer, over layers, or over
 * all; and attention rollout (Abnar and Zuidema 2020). Pure, no DOM. A mean of rows that sum to 1 does so, too; the
 * largest weights do not.
 */

import { overviewOf } from "./description.js";

/**
 * @import { Floats } from "../data/model_trace.js"
 * @import { Attention } from "./description.js"
 */

/** @typedef {"head"|"mean_heads"|"max_heads"|"mean_layers"|"max_layers"|"mean_all"|"max_all"|"rollout"} Average  "head": the open one, alone */

/** The most weights that are asked for at once: 12 layers × 12 heads × 166 tokens. */
const MOST = 4_000_000;

/** The overview's taps, layer by layer. @param {Attention} attention */
const tapsOf = (attention) => attention.roles[overviewOf(attention) ?? ""]?.taps ?? [];

/**
 * Whether an average can be made: of more than one matrix, and of a text that is not too long. A rollout goes on in the next
 * layer, so queries and keys are the same tokens.
 * @param {Average} average @param {Attention} attention @param {number} nQuery @param {number} nKey
 */
export function canAverage(average, attention, nQuery, nKey) {
  if (average === "head") return true;
  const { n_head, n_layer } = attention;
  if (average.endsWith("heads")) return n_head > 1 && n_head * nQuery * nKey <= MOST;
  if (n_layer * n_head * nQuery * nKey > MOST || n_layer < 2) return false;
  return average !== "rollout" || attention.queries === attention.keys;
}

/** Element by element. @param {ArrayLike<number>[]} matrices @param {(sum: number, one: number) => number} joined @param {number} by */
function over(matrices, joined, by) {
  const found = new Float32Array(matrices[0].length);
  for (let i = 0; i < found.length; i++) {
    let total = matrices[0][i];
    for (let n = 1; n < matrices.length; n++) total = joined(total, matrices[n][i]);
    found[i] = total / by;
  }
  return found;
}

/** @param {ArrayLike<number>[]} matrices */
const meanOfMatrices = (matrices) => over(matrices, (total, one) => total + one, matrices.length);

/** @param {ArrayLike<number>[]} matrices */
const largestOfMatrices = (matrices) => over(matrices, Math.max, 1);

/** The heads of a layer. @param {Floats} tensor  [head query key] @returns {Float32Array[]} */
function headsIn({ shape: [n, rows, cols], data }) {
  const size = rows * cols;
  return Array.from({ length: n }, (_, head) =>
    /** @type {Float32Array} */ (data).subarray(head * size, (head + 1) * size),
  );
}

/**
 * R_l = ½(A_l + I) R_{l−1}, with A_l the mean over the heads of layer l, normalised to rows of 1, and R_{−1} = I: what of each
 * token of the text is in a query, if half of what a layer passes on is its own.
 * @param {Floats[]} layers  [head query key] of the first layer to the last @returns {Float32Array} [query, key]
 */
export function rolloutOf(layers) {
  const n = layers[0].shape[1];
  let passed = Float64Array.from({ length: n * n }, (_, at) => (at % (n + 1) === 0 ? 1 : 0));
  for (const layer of layers) {
    const mean = meanOfMatrices(headsIn(layer));
    const next = new Float64Array(n * n);
    for (let query = 0; query < n; query++) {
      let total = 0;
      for (let key = 0; key < n; key++) total += mean[query * n + key] + (key === query ? 1 : 0);
      for (let key = 0; key < n; key++) {
        const share = (mean[query * n + key] + (key === query ? 1 : 0)) / total;
        if (share === 0) continue;
        for (let first = 0; first < n; first++) next[query * n + first] += share * passed[key * n + first];
      }
    }
    passed = next;
  }
  return Float32Array.from(passed);
}

/**
 * The matrix of an average; the heads of all its layers are there.
 * @param {Exclude<Average, "head">} average @param {(tap: string) => Floats} tensor @param {Attention} attention
 * @param {{layer: number, head: number}} open  the layer whose heads, and the head whose layers are taken
 */
export function averageOf(average, tensor, attention, { layer, head }) {
  const taps = tapsOf(attention);
  if (average === "rollout") return rolloutOf(taps.map(tensor));
  const layers = average.endsWith("heads") ? [tensor(taps[layer])] : taps.map(tensor);
  const heads = average.endsWith("layers") ? layers.map((one) => headsIn(one)[head]) : layers.flatMap(headsIn);
  return average.startsWith("mean") ? meanOfMatrices(heads) : largestOfMatrices(heads);
}
