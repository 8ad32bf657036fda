/** A product of two matrices, A·B (+ b) = C: its picture, and the sum of one element. */

import { cellIn, columnIn, products, rowIn, sum } from "../../model/matrix.js";

/** @import { Matrix } from "../../model/matrix.js" */

/**
 * @typedef {Object} Mat  one matrix of a picture
 * @property {string} id
 * @property {string} op  the sign before it, "" for the first
 * @property {() => Node} name
 * @property {Matrix} matrix
 * @property {"signed"|"weights"} [ramp]
 * @property {"q"|"k"|"v"|""} [role]
 * @property {"query"|"key"|null} [whose]  whose rows: in one token's view, only the chosen one is drawn
 * @property {string[]|null} [rows]  their labels
 * @property {string[]|null} [cols]
 * @property {Uint8Array|null} [forbidden]
 * @property {boolean} [masked]  its forbidden cells are −∞: M was added
 * @property {[number, number]} [band]  the columns of the open head
 * @property {boolean} [compound]  a name of several letters: in brackets before an index
 * @property {string} [legend]  instead of its colours and extremes
 * @property {boolean} [learned]  a parameter: the same for every text
 * @property {number|null} [whole]  of how many columns these are shown
 * @property {(row: number, col: number) => {row?: number, col?: number}} lit  the inputs of the result's element: a
 * row, a column, or (both) one element
 *
 * @typedef {Object} Arithmetic  of one element
 * @property {{a: ArrayLike<number>, b: ArrayLike<number>|null, values: number[], label: (i: number) => string,
 *   beyond?: {n: number, sum: number}}|null} terms  `beyond`: further terms, which are not listed
 * @property {[string, Object<string, any>, number|null][]} lines  key of the catalogue, its variables, the number
 * @property {number} total  computed here
 * @property {number|null} own  the model's; null if it has no such tensor
 * @property {string|null} tap  where it comes from
 * @property {string} [note]  why there is none, a key of the catalogue
 * @property {number} [times]  the factor applied to it before comparing
 *
 * @typedef {{layout: "product"|"stack"|"pairs", mats: Mat[], result: Mat, rows: "query"|"key"|"row", cols: "feature"|"key"|"answer",
 *   ids?: number[]}} Picture  `ids`: the answers of its columns
 */

/**
 * @param {Object} of
 * @param {any} of.a  {name, matrix, whose, rows, role} @param {any} of.b @param {any} [of.bias] @param {any} of.c
 * @param {"feature"|"key"|"answer"} [of.cols] @returns {Picture}
 */
export function productPicture({ a, b, bias = null, c, cols = "feature" }) {
  const mats = [
    { id: "a", op: "", lit: (row) => ({ row }), ...a },
    { id: "b", op: "×", lit: (row, col) => ({ col }), ...b },
    bias && { id: "bias", op: "+", learned: true, lit: (row, col) => ({ row: 0, col }), ...bias },
    { id: "c", op: "=", lit: (row, col) => ({ row, col }), ...c },
  ].filter(Boolean);
  return { layout: "product", mats, result: mats.at(-1), rows: a.whose ?? "row", cols };
}

/**
 * Matrices one after another; the last is computed from the others.
 * @param {any[]} mats @param {Partial<Picture>} [more] @returns {Picture}
 */
export const stacked = (mats, more) => ({
  layout: "stack",
  mats,
  result: mats[mats.length - 1],
  rows: "query",
  cols: "feature",
  ...more,
});

/**
 * Σ a·b + bias.
 * @param {Picture} picture @param {number} row @param {number} col @param {Partial<Arithmetic> & {label: (i: number) => string}} more
 */
export function productSum({ mats }, row, col, { label, ...more }) {
  const [a, b, c] = ["a", "b", "c"].map((id) => /** @type {Mat} */ (mats.find((one) => one.id === id)));
  const bias = mats.find((one) => one.id === "bias");
  const [x, w] = [rowIn(a.matrix, row), columnIn(b.matrix, col)];
  const values = products(x, w);
  const dot = sum(values);
  const shift = bias ? bias.matrix.data[col] : 0;
  /** @type {Arithmetic["lines"]} */
  const lines = [["computation.line.sum", { n: values.length }, dot]];
  if (bias) lines.push(["computation.line.bias", {}, shift]);
  return {
    terms: { a: x, b: w, values, label },
    lines,
    total: dot + shift,
    own: cellIn(c.matrix, row, col),
    tap: null,
    ...more,
  };
}
