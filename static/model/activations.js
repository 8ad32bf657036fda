/** The activations of FFNs, by their names in a description: post = activation(pre), times a gate where there is one. No DOM. */

import { largest } from "./matrix.js";

// The chosen FFN unit: the same rule for the walk, the FFN station and the inspector.

/**
 * The chosen unit; by default the one that fires most on the chosen token.
 * @param {{ffnUnit: number|null}} state @param {ArrayLike<number>} values  of the token, before or after ReLU
 */
export function chosenUnit({ ffnUnit }, values) {
  return Math.min(ffnUnit ?? largest(Array.from(values, (value) => Math.max(0, value))), values.length - 1);
}

/**
 * @typedef {Object} Activation
 * @property {string} name  for people
 * @property {((x: number) => number)|null} of  null: one whose formula is not known here
 * @property {boolean} silences  sets what is not above 0 to exactly 0: a unit fires or stays silent
 * @property {boolean} [squares]  what fires is squared; otherwise it passes unchanged
 */

/** Those of `ACTIVATIONS` in description.js. @type {Object<string, Activation>} */
const KNOWN = {
  relu: { name: "ReLU", of: (x) => Math.max(0, x), silences: true },
  relu_squared: { name: "ReLU²", of: (x) => Math.max(0, x) ** 2, silences: true, squares: true },
  gelu: { name: "GELU", of: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)), silences: false },
  gelu_tanh: { name: "GELU", of: (x) => 0.5 * x * (1 + Math.tanh(STEEP * (x + 0.044715 * x ** 3))), silences: false },
  silu: { name: "SiLU", of: (x) => x / (1 + Math.exp(-x)), silences: false },
};
const STEEP = Math.sqrt(2 / Math.PI);

/** @param {string} name @returns {Activation} */
export const activationOf = (name) => (Object.hasOwn(KNOWN, name) ? KNOWN[name] : { name, of: null, silences: false });

/** From here on, erf is ±1 to 1.5e-8. */
const FAR = 4;

/** erf(x) = 2/√π Σ (−1)ⁿ x²ⁿ⁺¹ / (n! (2n + 1)) @param {number} x */
function erf(x) {
  if (Math.abs(x) >= FAR) return Math.sign(x);
  let [term, total] = [x, x];
  for (let n = 1; n < 80; n++) {
    term *= -(x * x) / n;
    total += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * total;
}
