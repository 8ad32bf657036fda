/** The model's tensors as the matrices of the formulas: converted once, then cached. No DOM. */

import { namesIn } from "../../model/labels.js";
import { headIn } from "../../model/matrix.js";
import { memo } from "../../model/memo.js";
import { featureOf, position } from "../../model/selection.js";

/**
 * @import { FetchedTrace, HeadTrace } from "../../data/model_trace.js"
 * @import { ModelDetail } from "../../model/description.js"
 * @import { Matrix } from "../../model/matrix.js"
 * @import { State } from "../../state/store.js"
 * @import { AttentionStep, Step } from "./steps.js"
 */

// The inputs of a step's picture: the trace, the chosen head and tokens.

/**
 * @typedef {Object} Context
 * @property {FetchedTrace} trace
 * @property {ModelDetail} model
 * @property {Step} step
 * @property {number} layer @property {number} head
 * @property {number} query  the chosen row of the open stack
 * @property {number} key  the chosen row of the open attention's keys
 * @property {string[]} queries  their names: "red₂"
 * @property {string[]} keys
 * @property {number} feature  the followed dimension of the open head
 * @property {number|null} answer  the chosen token or class
 * @typedef {Context & {trace: HeadTrace, step: AttentionStep}} HeadContext  of an attention's step
 */

/** @param {FetchedTrace} trace @param {State} state @param {Step} step @returns {Context} */
export function contextOf(trace, state, step) {
  const { model, queries, keys } = trace;
  const { layer, head, answer } = state;
  return {
    trace,
    model,
    step,
    layer,
    head,
    answer,
    feature: featureOf(state, trace.attention),
    ...position(state, trace),
    queries: namesIn(queries.tokens),
    keys: namesIn(keys.tokens),
  };
}

/** How many streams of the block come before the one that its sublayer reads. @param {Step} step */
export function depthOf({ stack, layer, sublayer }) {
  const read = new Set(stack.layers[layer].sublayers.map(({ reads }) => reads.tap));
  return [...read].indexOf(sublayer?.reads.tap);
}

/**
 * The result of `make` for `tensor`, cached.
 * @type {<T>(tensor: {data: object}, what: string, make: () => T) => T}
 */
export const cachedMatrix = memo(
  (_, __, make) => make(),
  ({ data }, what) => [data, what],
);

/** A torch Linear's weight [out, in] as the W of y = x W: [in, out]. @param {Matrix} tensor @returns {Matrix} */
export const transposedOf = (tensor) =>
  cachedMatrix(tensor, "transposed", () => {
    const [rows, cols] = tensor.shape;
    const data = new Float32Array(rows * cols);
    for (let row = 0; row < rows; row++)
      for (let col = 0; col < cols; col++) data[col * rows + row] = tensor.data[row * cols + col];
    return { shape: [cols, rows], data };
  });

/** [head, position, d_head] as [position, heads side by side]. @param {Matrix} tensor @returns {Matrix} */
export const joined = (tensor) =>
  cachedMatrix(tensor, "joined", () => {
    const [heads, n, d] = tensor.shape;
    const data = new Float32Array(heads * n * d);
    for (let head = 0; head < heads; head++) {
      for (let row = 0; row < n; row++) {
        const from = (head * n + row) * d;
        data.set(tensor.data.subarray(from, from + d), (row * heads + head) * d);
      }
    }
    return { shape: [n, heads * d], data };
  });

/** One head of [head, …]. @param {Matrix} tensor @param {number} head @returns {Matrix} */
export const columnsOfHead = (tensor, head) => cachedMatrix(tensor, `head ${head}`, () => headIn(tensor, head));

/**
 * The tensor with `f` applied to every number.
 * @param {Matrix} tensor @param {string} what @param {(value: number) => number} f @returns {Matrix}
 */
export const mapped = (tensor, what, f) =>
  cachedMatrix(tensor, what, () => ({ shape: tensor.shape, data: tensor.data.map(f) }));

/** A vector as a matrix of one row. @param {Pick<Matrix, "data">} vector @returns {Matrix} */
export const asRow = ({ data }) => ({ shape: [1, data.length], data });

/**
 * QKᵀ of a head. The model records it divided by √d, so it is multiplied back.
 * @param {{scores: Matrix, q: Matrix}} detail
 */
export const dots = ({ scores, q }, by = Math.sqrt(q.shape[1])) => mapped(scores, `dots ${by}`, (value) => value * by);
