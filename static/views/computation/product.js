/** A product of two matrices, A·B (+ b) = C: its picture, and the sum of one element. */

import { normLetters } from "../../model/description.js";
import { cellIn, columnIn, products, rowIn, sum } from "../../model/matrix.js";
import { t } from "../../ui/i18n.js";
import { mi, mn, mo, mover, mtext, row, sqrt, sub, subsup } from "../../ui/mathml.js";

/**
 * @import { Norm } from "../../model/description.js"
 * @import { Matrix } from "../../model/matrix.js"
 */

/** The letters of the formulas (Vaswani et al. 2017), in the page's colours: they also name the matrices. */
const ROLES = ["q", "k", "v"];
const upper = (/** @type {string} */ name) => name.toUpperCase();

/** Q, K or V; with a head Q₅. @param {"q"|"k"|"v"} name @param {number} [head] */
export const projected = (name, head) =>
  head === undefined ? mi(upper(name), name) : sub(mi(upper(name), name), mn(head));

/** K₅ᵀ @param {number} head */
export const flippedKeys = (head) => subsup(mi("K", "k"), mn(head), mtext("⊤"));

/** W_Q, b_Q, W_O, W_1 …: learned parameters. @param {"W"|"b"} letter @param {string|number} index  "q", "o", 1 */
export const parameter = (letter, index) => {
  const role = ROLES.includes(/** @type {any} */ (index)) ? String(index) : undefined;
  return sub(mi(letter, role), typeof index === "number" ? mn(index) : mi(upper(index), role));
};

/** A, S, Z of the open head. @param {string} letter @param {number} head */
export const ofHead = (letter, head) => sub(mi(letter), mn(head));

/** The residual stream: X before the block's first sublayer, X′ after it, X″ after the next. */
const PRIMES = ["", "′", "″", "‴"];

/** The stream after this many of the block's sublayers. @param {number} depth */
export function stream(depth) {
  const primes = PRIMES[depth] ?? `(${depth})`;
  return primes ? row(mi("X"), mtext(primes)) : mi("X");
}

/** What a sublayer adds. @param {"attention"|"ffn"} kind */
export const written = (kind) => mi(kind === "ffn" ? "FFN" : "MultiHead");

/** LN(X) or RMS(X). @param {Node} x @param {Norm|null} norm */
export const normed = (x, norm) => row(mi(normLetters(norm)), mtext("("), x, mtext(")"));

/** X̃: each token's input, mixed with the one before. @param {string} index  "k" or "r" @returns {() => Node} */
export const shiftedName = (index) => () => sub(mover(mi("X"), mo("˜")), mi(index));

/** The encoder's output. */
export const memory = () => sub(mi("X"), mtext(t("sides.source")));

/** √d_k */
export const rootOfD = () => sqrt(sub(mi("d"), mi("k")));

/** a · b, with a dot for the product. @param {Node} a @param {Node} b */
export const timesSign = (a, b) => row(a, mo("·"), b);

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
 * @typedef {Partial<Mat> & Pick<Mat, "name"|"matrix">} Part  of a product
 */

/**
 * @param {{a: Part, b: Part, bias?: Part|null, c: Part, cols?: Picture["cols"]}} of
 * @returns {Picture}
 */
export function productPicture({ a, b, bias = null, c, cols = "feature" }) {
  /** @type {Mat} */
  const result = { id: "c", op: "=", lit: (row, col) => ({ row, col }), ...c };
  /** @type {Mat[]} */
  const mats = [
    { id: "a", op: "", lit: (row) => ({ row }), ...a },
    { id: "b", op: "×", lit: (row, col) => ({ col }), ...b },
    ...(bias ? [shiftOf(bias)] : []),
    result,
  ];
  return { layout: "product", mats, result, rows: a.whose ?? "row", cols };
}

/** @param {Part} bias @returns {Mat} */
const shiftOf = (bias) => ({ id: "bias", op: "+", learned: true, lit: (row, col) => ({ row: 0, col }), ...bias });

/**
 * Matrices one after another; the last is computed from the others.
 * @param {Mat[]} mats @param {Partial<Picture>} [more] @returns {Picture}
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
