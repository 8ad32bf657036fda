/**
 * The inputs of a step's picture: the trace, the chosen head and tokens, and the taps its sublayer reads and writes. No
 * DOM.
 */

import { stacksOf, tapOf } from "../../model/description.js";
import { tokenLabel } from "../../model/labels.js";
import { position } from "../../model/selection.js";

/**
 * @typedef {Object} Context
 * @property {import("../../data/model_trace.js").ModelTrace} trace
 * @property {any} model
 * @property {import("./steps.js").Step} step
 * @property {number} layer @property {number} head
 * @property {number} query  the chosen row of the open stack
 * @property {number} key  the chosen row of the open attention's keys
 * @property {string[]} queries  labels
 * @property {string[]} keys
 * @property {number|null} answer  the chosen token or class
 */

/** @type {WeakMap<object, string[]>} */
const labels = new WeakMap();

function labelsOf({ tokens }) {
  if (!labels.has(tokens)) labels.set(tokens, tokens.map(tokenLabel));
  return /** @type {string[]} */ (labels.get(tokens));
}

/** @param {any} trace @param {import("../../state/store.js").State} state @param {import("./steps.js").Step} step @returns {Context} */
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
    ...position(state, trace),
    queries: labelsOf(queries),
    keys: labelsOf(keys),
  };
}

/** Whether Q, K or V is computed from another stack's output. @param {string} name @param {import("./steps.js").Step} step */
export const isForeign = (name, { attention }) =>
  name !== "q" && attention !== null && attention.queries !== attention.keys;

/** The tap that Q, K or V is computed from; in cross-attention, K and V come from the other stack's output. */
export function readBy(model, name, step) {
  if (!isForeign(name, step)) return step.sublayer.input.tap;
  return stacksOf(model).find(({ side }) => side === step.attention.keys)?.leaves.tap ?? step.sublayer.input.tap;
}

/** How many sublayers of the block come before the one that reads the stream. @param {import("./steps.js").Step} step */
export const depthOf = ({ stack, layer, sublayer }) => stack.layers[layer].sublayers.indexOf(sublayer);

/** The tensors of a residual connection: the stream before, what is added, and their sum. */
export function sumOf({ reads, writes, leaves, norm }) {
  const added = norm?.place === "res-post" ? norm.roles.out : writes;
  const sum = norm?.place === "post" ? norm.roles.input : leaves;
  return { before: reads.tap, added: added.tap, sum: sum.tap };
}

/** The tensor of the step's attention in its layer. @param {{attention: any, layer: number}} step @param {string} role */
export const tapIn = ({ attention, layer }, role) => tapOf(attention, layer, role);
