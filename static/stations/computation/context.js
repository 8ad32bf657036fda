/** The inputs of a step's picture: the trace, the chosen head and tokens. No DOM. */

import { tokenLabel } from "../../model/labels.js";
import { featureOf, position } from "../../model/selection.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Step } from "./steps.js"
 */

/**
 * @typedef {Object} Context
 * @property {ModelTrace} trace
 * @property {any} model
 * @property {Step} step
 * @property {number} layer @property {number} head
 * @property {number} query  the chosen row of the open stack
 * @property {number} key  the chosen row of the open attention's keys
 * @property {string[]} queries  labels
 * @property {string[]} keys
 * @property {number} feature  the followed dimension of the open head
 * @property {number|null} answer  the chosen token or class
 */

/** @type {WeakMap<object, string[]>} */
const labels = new WeakMap();

function labelsOf({ tokens }) {
  if (!labels.has(tokens)) labels.set(tokens, tokens.map(tokenLabel));
  return /** @type {string[]} */ (labels.get(tokens));
}

/** @param {any} trace @param {State} state @param {Step} step @returns {Context} */
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
    queries: labelsOf(queries),
    keys: labelsOf(keys),
  };
}

/** How many streams of the block come before the one that its sublayer reads. @param {Step} step */
export function depthOf({ stack, layer, sublayer }) {
  const read = new Set(stack.layers[layer].sublayers.map(({ reads }) => reads.tap));
  return [...read].indexOf(sublayer?.reads.tap);
}
