/**
 * The mechanisms for which the page can show how a weight is computed, and what it needs for that; and the arithmetic:
 * scores (q·k, rotated or with a part for the distance) and the weights of features (e^(w + k), without q). No DOM.
 */

import { has, identityOf, parameterOf, sumsValues, tapOf, weighsFeatures } from "./description.js";
import { scoresIn } from "./formula_edits.js";
import { headOf } from "./identities.js";
import { cellIn, rowIn, sum } from "./matrix.js";
import { memo } from "./memo.js";
import { parameterNeeds, tensorNeeds } from "./taps.js";

/**
 * @import { Detail, ModelTrace } from "../data/model_trace.js"
 * @import { Attention } from "./description.js"
 * @import { Matrix } from "./matrix.js"
 */

/** The two parts of scores that depend on distance. */
const DISTANCE = ["content_scores", "relative_scores"];

/** @param {Attention} attention */
const hasDistance = (attention) => (attention.parts?.scores ?? []).join() === DISTANCE.join();

/** The role that depends on positions and is added to the products (T5's bias, ALiBi, DeBERTa's terms); null without one. @param {Attention} attention @returns {string|null} */
export function biasRole(attention) {
  const [content, added, ...more] = attention.parts?.scores ?? [];
  return content === DISTANCE[0] && added && added !== DISTANCE[1] && !more.length ? added : null;
}

/** What its products are divided by: √d_head, or 1 in models that do not scale them. @param {Attention} attention */
export const divisorOf = ({ scale, d_head }) => (scale ? 1 / scale : Math.sqrt(d_head));

/** The number under the root of what products are divided by: d_head, in most models. @param {number} divisor */
export const underRoot = (divisor) => Number((divisor * divisor).toFixed(4));

/** The roles that are multiplied: q and k, or the rotated ones; null if scores are something else. @param {Attention} attention @returns {string[]|null} */
function multiplied(attention) {
  const inParts = hasDistance(attention) || biasRole(attention) !== null;
  const stated = identityOf(attention, inParts ? DISTANCE[0] : "scores");
  return stated?.op === "scaled_product" ? stated.of : null;
}

/** Whether the page can show how its scores are computed. @param {Attention|null|undefined} attention */
export const knowsScores = (attention) => Boolean(attention && multiplied(attention));

/** Whether its z are the weights times what `valuesFor` returns. @param {Attention|null|undefined} attention */
export const knowsValues = (attention) => sumsValues(attention) || Boolean(attention && hasDistance(attention));

/** What `scoringOf` reads in addition to the detail. @param {Attention} attention @param {number} layer */
export function needsOfScores(attention, layer) {
  const turned = (multiplied(attention) ?? []).filter((role) => role !== "q" && role !== "k");
  const taps = [...turned, ...(hasDistance(attention) ? ["distance"] : [])].filter((role) => has(attention, role));
  const tables = hasDistance(attention) ? ["table_k", "table_v"] : [];
  return [
    ...tensorNeeds(...taps.map((role) => tapOf(attention, layer, role))),
    ...parameterNeeds(...tables.map((role) => parameterOf(attention, layer, role))),
  ];
}

/** The learned numbers from which RWKV computes a weight, in addition to k. */
const LEARNED = ["decay", "bonus"];

/** Whether its weights are e^(position + k), normalised. @param {Attention|null|undefined} attention */
export const weighsKeys = (attention) =>
  weighsFeatures(attention) ||
  attention?.identities.some(({ op, gives }) => op === "feature_softmax" && gives === "weights") === true;

/**
 * What `featureParts` reads in addition to the detail; with `measured`, the weights of the model too.
 * @param {Attention} attention @param {number} layer @param {boolean} measured  query × key × feature: large
 */
export const needsOfWeights = (attention, layer, measured) => [
  ...(has(attention, "position_bias") ? tensorNeeds(tapOf(attention, layer, "position_bias")) : []),
  ...parameterNeeds(...LEARNED.map((name) => parameterOf(attention, layer, name))),
  ...(measured && weighsFeatures(attention) ? tensorNeeds(tapOf(attention, layer, "weights")) : []),
];

// What the weights of a feature are made from, in a trace: their parts.

/**
 * The parts of the open head.
 * @param {ModelTrace} trace @returns {Parts}
 */
export function featureParts({ attention, detail, keys, tensor, weight }) {
  const { layer, head, k, mask } = /** @type {Detail} */ (detail);
  const bias = has(attention, "position_bias") && tensor(tapOf(attention, layer, "position_bias"));
  const learned = LEARNED.map((name) => {
    const found = weight(parameterOf(attention, layer, name) ?? "");
    return [name, found?.data.subarray(head * attention.d_head, (head + 1) * attention.d_head)];
  });
  const dims = attention.roles.position_bias?.dims;
  return {
    k,
    mask,
    places: keys.positionIds,
    ...(bias ? { bias: headOf(bias, head, attention.n_head, dims) } : {}),
    ...Object.fromEntries(learned.filter(([, found]) => found)),
  };
}

// The weights of one feature in an Attention Free Transformer (Zhai et al. 2021, equation 2) and in RWKV (Peng et al.
// 2023, equation 16), in float64: e^(position + k_i), divided by the sum over the allowed keys. No query is in it. No DOM.

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

// How the scores of an attention are computed, as far as the page can show it: q·k/√d; the same with q and k rotated
// by their positions; q·k/√d plus a part for the distance, which the values then have, too (Shaw et al. 2018, equations
// 3 and 4). No DOM.

/**
 * @typedef {Object} Scoring  of the open head
 * @property {Matrix} q  what the scores multiply
 * @property {Matrix} k
 * @property {Matrix} v
 * @property {{rows: Matrix, keys: Matrix, values: Matrix}|null} distance  the row of each pair in the tables, and these
 * @property {Matrix|null} [bias]  what depends only on positions and is added to each score
 * @property {number} [divisor]  what products are divided by; by default √d
 * @property {number} [temperature]  what the scores are divided by before the softmax
 */

/** @param {ModelTrace} trace @returns {Scoring} */
export function scoringOf({ attention, attentions = [], interventions = [], detail, tensor, weight }) {
  const { layer, head, q, k, v } = /** @type {Detail} */ (detail);
  const { scaled, temperature } = scoresIn(interventions, attention, attentions, { layer, head });
  const own = (/** @type {string} */ role) =>
    headOf(tensor(tapOf(attention, layer, role)), head, attention.n_head, attention.roles[role].dims);
  const table = (/** @type {string} */ role) => /** @type {any} */ (weight(parameterOf(attention, layer, role) ?? ""));
  const [one, other] = multiplied(attention) ?? [];
  const distance = hasDistance(attention)
    ? { rows: own("distance"), keys: table("table_k"), values: table("table_v") }
    : null;
  const added = biasRole(attention);
  return {
    q: one === "q" ? q : own(one),
    k: other === "k" ? k : own(other),
    v,
    distance,
    bias: added === null ? null : /** @type {any} */ (detail)[added],
    divisor: scaled ? divisorOf(attention) : 1,
    temperature,
  };
}

/** The learned vector of the distance between a query and a key. @param {NonNullable<Scoring["distance"]>} distance @param {"keys"|"values"} table @param {number} query @param {number} key */
export const vectorOf = (distance, table, query, key) => rowIn(distance[table], cellIn(distance.rows, query, key));

/**
 * What each key passes on to this query: v, plus the vector of their distance.
 * @param {Pick<Scoring, "v"|"distance">} scoring @param {number} query @returns {Matrix} [key d_head], the same for the same query
 */
export const valuesFor = ({ v, distance }, query) => (distance ? shifted(v, distance, query) : v);

const shifted = memo(
  (/** @type {Matrix} */ v, /** @type {NonNullable<Scoring["distance"]>} */ distance, /** @type {number} */ query) =>
    withVectors(v, (key) => vectorOf(distance, "values", query, key)),
  ({ data }, _, query) => [data, query],
);

/** @param {Matrix} v @param {(key: number) => ArrayLike<number>} vector @returns {Matrix} */
function withVectors({ shape, data }, vector) {
  const [rows, cols] = shape;
  const out = new Float32Array(rows * cols);
  for (let key = 0; key < rows; key++) {
    const more = vector(key);
    for (let d = 0; d < cols; d++) out[key * cols + d] = data[key * cols + d] + more[d];
  }
  return { shape, data: out };
}
