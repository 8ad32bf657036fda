/** What a step is drawn from: the trace, the chosen head and tokens, and where its sublayer reads and writes. No DOM. */

import { inputOf, outputOf, sublayersOf } from "../../model/anatomy.js";
import { tokenLabel } from "../../model/labels.js";
import { position } from "../../model/selection.js";

/**
 * @typedef {Object} Context
 * @property {import("../../data/model_trace.js").ModelTrace} trace
 * @property {any} model
 * @property {import("./steps.js").Step} step
 * @property {number} layer @property {number} head
 * @property {number} query  the chosen row of the stack that is walked through
 * @property {number} key  the chosen row of what the open attention looks at
 * @property {string[]} queries  labels
 * @property {string[]} keys
 * @property {number|null} answer  the token or class that is asked about
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

/** Whether a block of the step's stack has cross-attention. */
export const crosses = (model, { prefix, layer }) => sublayersOf(model, prefix, layer).length === 3;

/** The tap that K and V are made from: in cross-attention the encoder's output. */
export const readBy = (model, name, sublayer) =>
  sublayer.kind === "cross_attn" && name !== "q" ? outputOf(model, "encoder.") : inputOf(model, sublayer);

/** The three of a residual connection: what was there, what is added, and their sum. */
export function sumOf(model, { before, out, after, norm }) {
  const added = model.norm_order === "res-post" ? `${norm}.out` : out;
  return { before, added, sum: model.norm_order === "post" ? `${norm}.input` : after };
}
