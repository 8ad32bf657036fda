/**
 * Rotary positions in float64 (Su et al. 2021, equation 15): pair i is dimensions (i, i + d/2), turned by p · 10000^(−2i/d) at
 * position p, as in Llama. No DOM.
 */

/** @import { Attention } from "../../model/description.js" */

/** Where a description says no other. */
export const BASE = 10_000;

/** The angle of a pair for each position. @param {number} i @param {number} d @param {number} [base] */
export const stepOf = (i, d, base = BASE) => base ** ((-2 * i) / d);

/** The angle of a pair for each position, as an attention has it. @param {Pick<Attention, "base"|"frequencies">} attention @param {number} i @param {number} d */
export const angleOf = ({ base = BASE, frequencies }, i, d) => frequencies?.[i] ?? stepOf(i, d, base);

/** @typedef {[number, number]} Point */

/**
 * A vector's pair, before and after it is turned.
 * @param {ArrayLike<number>} x  [d] @param {number} i @param {number} place  the position id
 * @param {Pick<Attention, "base"|"frequencies">} [attention]
 * @returns {{before: Point, after: Point, angle: number}}
 */
export function turned(x, i, place, attention = {}) {
  const half = x.length / 2;
  const angle = place * angleOf(attention, i, x.length);
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const before = /** @type {Point} */ ([x[i], x[i + half]]);
  return { before, after: [before[0] * cos - before[1] * sin, before[1] * cos + before[0] * sin], angle };
}

/** An angle between 0° and 360°, and how often it went all the way round. @param {number} angle */
export function degreesOf(angle) {
  const all = (angle * 180) / Math.PI;
  return { rounds: Math.floor(all / 360), degrees: all % 360 };
}
