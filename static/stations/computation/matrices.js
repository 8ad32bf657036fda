/** The model's tensors as the matrices of the formulas: converted once, then cached. No DOM. */

import { headIn } from "../../model/matrix.js";

/** @import { Matrix } from "../../model/matrix.js" */

/** @type {WeakMap<object, Map<string, any>>} */
const made = new WeakMap();

/**
 * The result of `make` for `tensor`, cached.
 * @template T @param {{data: object}} tensor @param {string} what @param {() => T} make @returns {T}
 */
export function once({ data }, what, make) {
  const known = made.get(data) ?? new Map();
  made.set(data, known);
  if (!known.has(what)) known.set(what, make());
  return known.get(what);
}

/** A torch Linear's weight [out, in] as the W of y = x W: [in, out]. @returns {Matrix} */
export const transposed = (tensor) =>
  once(tensor, "transposed", () => {
    const [rows, cols] = tensor.shape;
    const data = new Float32Array(rows * cols);
    for (let row = 0; row < rows; row++)
      for (let col = 0; col < cols; col++) data[col * rows + row] = tensor.data[row * cols + col];
    return { shape: [cols, rows], data };
  });

/** [head, position, d_head] as [position, heads side by side]. @returns {Matrix} */
export const joined = (tensor) =>
  once(tensor, "joined", () => {
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

/** One head of [head, …]. @returns {Matrix} */
export const headOf = (tensor, head) => once(tensor, `head ${head}`, () => headIn(tensor, head));

/** Every number through `f`. @returns {Matrix} */
export const mapped = (tensor, what, f) =>
  once(tensor, what, () => ({ shape: tensor.shape, data: tensor.data.map(f) }));

/** A vector as a matrix of one row. @returns {Matrix} */
export const asRow = ({ data }) => ({ shape: [1, data.length], data });

/**
 * QKᵀ of a head. The model records it divided by √d, so it is multiplied back.
 * @param {{scores: Matrix, q: Matrix}} detail
 */
export const dots = ({ scores, q }) => mapped(scores, "dots", (value) => value * Math.sqrt(q.shape[1]));
