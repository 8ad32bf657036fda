/**
 * The weights of one feature in an Attention Free Transformer (Zhai et al. 2021, equation 2) and in RWKV (Peng et al.
 * 2023, equation 16), in float64: e^(position + k_i), divided by the sum over the allowed keys. No query is in it. No DOM.
 */

import { cellIn, rowIn, sum } from "./matrix.js";

/** @import { Matrix } from "./matrix.js" */

/**
 * @typedef {Object} Parts  of one head
 * @property {Matrix} k  [key feature], or [key 1]: one number for all features
 * @property {Matrix} mask  reasons: 0 = allowed
 * @property {Matrix} [bias]  w [query key]
 * @property {ArrayLike<number>} [decay]  of RWKV: ln w of each feature
 * @property {ArrayLike<number>} [bonus]  of RWKV: u
 * @property {ArrayLike<number>} [places]  of RWKV: the position ids
 */

/**
 * What position adds to k: w_ti; of RWKV −(t − 1 − i)·w, and u for a token's own; otherwise 0.
 * @param {Parts} parts @param {number} query @param {number} key @param {number} feature
 */
export function positionPart({ bias, decay, bonus, places }, query, key, feature) {
  if (bias) return cellIn(bias, query, key);
  if (!decay || !bonus || !places) return 0;
  if (query === key) return bonus[feature];
  return -Math.max(0, places[query] - places[key] - 1) * Math.exp(decay[feature]);
}

/**
 * What leads to one weight.
 * @param {Parts} parts @param {number} query @param {number} key @param {number} feature
 */
export function featureTerms(parts, query, key, feature) {
  const { k, mask } = parts;
  const ofKey = (/** @type {number} */ i) => cellIn(k, i, Math.min(feature, k.shape[1] - 1));
  const reasons = rowIn(mask, query);
  const logits = Array.from(reasons, (reason, i) =>
    reason ? -Infinity : ofKey(i) + positionPart(parts, query, i, feature),
  );
  const shift = logits.reduce((one, other) => Math.max(one, other), -Infinity);
  const exps = logits.map((one) => (one === -Infinity ? 0 : Math.exp(one - shift)));
  const rowSum = sum(exps);
  const position = positionPart(parts, query, key, feature);
  return {
    k: ofKey(key),
    position,
    logit: ofKey(key) + position,
    reasons: reasons[key],
    logits,
    shift,
    exps,
    exp: exps[key],
    rowSum,
    nAllowed: logits.filter((one) => one > -Infinity).length,
    weight: rowSum === 0 ? 0 : exps[key] / rowSum,
  };
}

/** One feature's weights [query key]. @param {any} weights @param {number} feature */
export function sliceOf({ shape: [nQuery, nKey, features], data }, feature) {
  const one = new Float32Array(nQuery * nKey);
  for (let i = 0; i < one.length; i++) one[i] = data[i * features + feature];
  return { shape: [nQuery, nKey], data: one };
}

/** In how many tokens a channel's weight is halved: ln 2 / w, w = e^decay. @param {number} decay */
export const halfLife = (decay) => Math.LN2 / Math.exp(decay);

/**
 * RWKV's state before each token, and after the last: the two sums over what came before, divided by e^top, the largest
 * exponent in them, so that they stay finite.
 * @param {{k: ArrayLike<number>, v: ArrayLike<number>, decay: number, real?: (i: number) => boolean}} channel
 * @returns {{above: number, below: number, top: number}[]}
 */
export function statesOf({ k, v, decay, real = () => true }) {
  const w = Math.exp(decay);
  let state = { above: 0, below: 0, top: -Infinity };
  const states = [state];
  for (let i = 0; i < k.length; i++) {
    if (real(i)) {
      const top = Math.max(state.top - w, k[i]);
      const [kept, added] = [state.below === 0 ? 0 : Math.exp(state.top - w - top), Math.exp(k[i] - top)];
      state = { above: kept * state.above + added * v[i], below: kept * state.below + added, top };
    }
    states.push(state);
  }
  return states;
}
