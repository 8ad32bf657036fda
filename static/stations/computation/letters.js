/** The letters of the formulas (Vaswani et al. 2017), in the page's colours: they also name the matrices. */

import { normLetters } from "../../model/description.js";
import { t } from "../../ui/i18n.js";
import { mi, mn, mo, mover, mtext, row, sqrt, sub, subsup } from "../../ui/mathml.js";

/** @import { Norm } from "../../model/description.js" */

const ROLES = ["q", "k", "v"];
const upper = (name) => name.toUpperCase();

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
export const times = (a, b) => row(a, mo("·"), b);
