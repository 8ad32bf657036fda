/** The FFN of the open stack and layer as numbers: which units fire, their order, the strongest. No DOM. */

import { attentionOf, ffnOf as ffnIn, normLetters, stackOf } from "../../model/description.js";

/**
 * @import { Ffn, Model } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 */

/**
 * The steps of an FFN in the order of the forward pass, each with the tensor after it.
 * @typedef {"x"|"normed"|"pre"|"post"|"out"|"sum"} StepName
 * @typedef {{name: StepName, tap: string}} Step
 * @param {State} state @param {Model} model @returns {Step[]}
 */
export function stepsOf({ attention, layer }, model) {
  const stack = stackOf(model, attentionOf(model, attention));
  const { reads, writes, leaves, norm, roles } = /** @type {Ffn} */ (ffnIn(model, stack.id, layer));
  const step = (/** @type {StepName} */ name, /** @type {{tap: string}} */ { tap }) => ({ name, tap });
  const normed = norm ? [step("normed", norm.roles.out)] : [];
  const units = [step("pre", roles.pre), step("post", roles.post), step("out", writes)];
  const adds = leaves.tap !== writes.tap && leaves.tap !== norm?.roles.out.tap;
  const sum = norm?.place === "post" ? [step("sum", norm.roles.input)] : adds ? [step("sum", leaves)] : [];
  const before = norm?.place === "pre" ? normed : [];
  const within = norm?.place === "res-post" ? normed : [];
  const after = norm?.place === "post" ? normed : [];
  return [step("x", reads), ...before, ...units, ...within, ...sum, ...after];
}

/**
 * The open step: of a saved trace and of a link for another model, one of those that are there.
 * @param {StepName} wish @param {State} state @param {Model} model @returns {Step}
 */
export function openFfnStep(wish, state, model) {
  const steps = stepsOf(state, model);
  const has = (/** @type {StepName} */ name) => steps.find((step) => step.name === name);
  const units = wish === "pre" || wish === "post";
  return /** @type {Step} */ ((state.file === null || units ? has(wish) : undefined) ?? has("post"));
}

/**
 * How many columns share one of a picture that has room for `most`: 1, 2, 4, 8, …
 * @param {number} n @param {number} most
 */
export const sharedBy = (n, most) => 2 ** Math.max(0, Math.ceil(Math.log2(n / Math.max(1, most))));

/** @typedef {{shape: number[], data: Float32Array}} Matrix  @typedef {{stack: string, layer: number}} Place */

/**
 * The FFN of the open attention's stack: for cross-attention, the decoder's.
 * @param {State} state @param {Model} model
 */
export function openFfn({ attention, layer }, model) {
  const stack = stackOf(model, attentionOf(model, attention));
  const { input, norm, roles, parameters, activation, gate } = /** @type {Ffn} */ (ffnIn(model, stack.id, layer));
  return {
    stack: stack.id,
    layer,
    place: norm?.place ?? null,
    letters: normLetters(norm),
    input: input.tap,
    pre: roles.pre.tap,
    post: roles.post.tap,
    parameters,
    activation,
    gate,
    mixes: "receptance" in roles,
    up: gate === null ? null : roles[gate].tap,
  };
}

/**
 * The units in drawing order: by id, or by their value on the chosen token, strongest first.
 * @param {"id"|"activation"} sort @param {Float32Array} pre  of the token: it also orders units that an activation sets to 0
 */
export function orderOf(sort, pre) {
  const ids = Array.from(pre, (_, id) => id);
  return sort === "id" ? ids : ids.sort((a, b) => pre[b] - pre[a] || a - b);
}

/**
 * The `k` largest of those above 0, largest first.
 * @param {ArrayLike<number>} values @param {number} k @returns {{index: number, value: number}[]}
 */
export function strongest(values, k) {
  const firing = Array.from(values, (value, index) => ({ index, value })).filter(({ value }) => value > 0);
  return firing.sort((a, b) => b.value - a.value || a.index - b.index).slice(0, k);
}

/**
 * On how many of some positions each unit fires, counted on the tensor itself.
 * @param {Matrix} post @param {number[]} positions
 */
export function firingOf({ shape: [, cols], data }, positions) {
  const fires = new Uint32Array(cols);
  for (const row of positions)
    for (let unit = 0; unit < cols; unit++) fires[unit] += data[row * cols + unit] > 0 ? 1 : 0;
  const ids = Array.from(fires, (_, unit) => unit);
  return {
    fires,
    dead: ids.filter((unit) => fires[unit] === 0),
    always: ids.filter((unit) => fires[unit] === positions.length),
    share: fires.reduce((sum, count) => sum + count, 0) / Math.max(1, cols * positions.length),
  };
}

/** Whether something is about this FFN. @param {Place} ffn @returns {(one: Place) => boolean} */
export const isOf = (ffn) => (one) => one.stack === ffn.stack && one.layer === ffn.layer;

/** The card's counts of this FFN over a corpus; null if there are none. @param {Model} model @param {Place} ffn */
export const corpusOf = ({ units }, ffn) => units?.layers?.find(isOf(ffn)) ?? null;
