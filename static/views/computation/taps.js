/** The taps and parameters that the steps read and write, by the names of the description. No DOM. */

import {
  answeringStack,
  has,
  hidesBlocks,
  identityOf,
  isCross,
  parameterOf,
  stacksOf,
  tapOf,
} from "../../model/description.js";
import { isKnown } from "../../model/identities.js";
import { roleOf } from "./steps.js";

/**
 * @import { Attention, Model, Norm, Stack, Stream, Tap } from "../../model/description.js"
 * @import { Step } from "./steps.js"
 */

/** The tensor of the step's attention in its layer. @param {{attention: any, layer: number}} step @param {string} role */
export const tapIn = ({ attention, layer }, role) => tapOf(attention, layer, role);

/** Whether Q, K or V is computed from another stack's output. @param {string} name @param {Step} step */
export const isForeign = (name, { attention }) => name !== "q" && isCross(attention);

/**
 * The tap that Q, K or V is computed from; in cross-attention, K and V come from the other stack's output.
 * @param {Model} model @param {string} name @param {Step} step
 */
function readBy(model, name, step) {
  if (!isForeign(name, step)) return step.sublayer.input.tap;
  return stacksOf(model).find(({ side }) => side === step.attention?.keys)?.leaves.tap ?? step.sublayer.input.tap;
}

/**
 * The tensors of a residual connection: the stream before, what is added, and their sum.
 * @param {Stream & {beside?: Tap}} sublayer @returns {{before: string, beside?: string, added: string, sum: string}}
 */
export function sumOf({ reads, writes, leaves, norm, beside }) {
  const added = norm?.place === "res-post" ? norm.roles.out : writes;
  const sum = norm?.place === "post" ? norm.roles.input : leaves;
  return { before: reads.tap, ...(beside && { beside: beside.tap }), added: added.tap, sum: sum.tap };
}

/** @template T @param {T[]} list */
const last = (list) => list[list.length - 1];

/** The stream before the first block. @param {Stack} stack */
const firstOf = ({ layers }) => layers[0].sublayers[0].reads.tap;

/** The stream before and after the blocks that the walk does not enter. @type {Record<"before"|"rest", (step: Step) => {from: string, to: string}>} */
export const SKIPPED = {
  before: ({ stack, layer }) => ({ from: firstOf(stack), to: stack.layers[layer].sublayers[0].reads.tap }),
  rest: ({ stack, layer }) => ({
    from: stack.layers[layer + 1].sublayers[0].reads.tap,
    to: (hidesBlocks(stack) ? stack : last(last(stack.layers).sublayers)).leaves.tap,
  }),
};

/** The sum of embedding and position: what the first block reads, unless a LayerNorm is between. @param {Stack} stack */
export const streamStart = (stack) => stack.embedding.norm?.roles.input.tap ?? firstOf(stack);

/** A step that is one LayerNorm. @type {Record<"start"|"norm"|"final", (step: Step) => Norm>} */
export const NORMS = {
  start: ({ stack }) => /** @type {Norm} */ (stack.embedding.norm),
  norm: ({ sublayer }) => sublayer.norm,
  final: ({ stack }) => /** @type {Norm} */ (stack.final_norm),
};

/** The role that a projection gives: before its norm, where there is one. @param {{attention: any}} step @param {"q"|"k"|"v"} name */
export const madeBy = ({ attention }, name) => (has(attention, `${name}_projected`) ? `${name}_projected` : name);

/** @param {"q"|"k"|"v"} name @returns {(step: any, model: Model) => Linear} */
const projection = (name) => (step, model) => ({
  input: readBy(model, name, step),
  output: tapIn(step, madeBy(step, name)),
  ...learned(step, name),
});
/** @param {{attention: any, layer: number}} step @param {string} name */
const learned = ({ attention, layer }, name) => ({
  weight: parameterOf(attention, layer, `w_${name}`),
  bias: parameterOf(attention, layer, `b_${name}`),
});

/**
 * A step that is one Linear: the taps that it reads and writes, and its parameters (bias null: none).
 * @typedef {{input: string, output: string, weight: any, bias: any}} Linear
 * @type {Record<"q"|"k"|"v"|"wo"|"w1"|"up"|"w2"|"wr", (step: Step, model: Model) => Linear>}
 */
export const LINEAR = {
  q: projection("q"),
  k: projection("k"),
  v: projection("v"),
  wo: (step) => ({ input: tapIn(step, "z"), output: step.sublayer.writes.tap, ...learned(step, "o") }),
  w1: ({ sublayer: { input, roles, parameters } }) => ({
    input: input.tap,
    output: roles.pre.tap,
    weight: parameters.w_1,
    bias: parameters.b_1,
  }),
  up: ({ sublayer: { input, gate, roles, parameters } }) => ({
    input: input.tap,
    output: roles[gate].tap,
    weight: parameters.w_up,
    bias: parameters.b_up,
  }),
  w2: ({ sublayer: { roles, writes, parameters } }) => ({
    input: roles.post.tap,
    output: (roles.value ?? writes).tap,
    weight: parameters.w_2,
    bias: parameters.b_2,
  }),
  wr: ({ sublayer: { roles, parameters } }) => ({
    input: roles.shifted_r.tap,
    output: roles.receptance.tap,
    weight: parameters.w_r,
    bias: null,
  }),
};

/**
 * A step that mixes each token with the one before: what is mixed, the mix, and the share of the token itself.
 * @type {Record<"shift"|"shift_r", (step: Step) => {input: string, output: string, share: string}>}
 */
export const SHIFTED = {
  shift: ({ sublayer: { norm, roles, parameters } }) => ({
    input: norm.roles.out.tap,
    output: roles.shifted.tap,
    share: parameters.mix_k,
  }),
  shift_r: ({ sublayer: { norm, roles, parameters } }) => ({
    input: norm.roles.out.tap,
    output: roles.shifted_r.tap,
    share: parameters.mix_r,
  }),
};

/** What the answer is made from: its input, its logits, and the learned parameters. @param {Model} model */
export function answerOf(model) {
  const { tap, parameters } = model.description.logits;
  return {
    state: answeringStack(model).leaves.tap,
    tap,
    table: parameters.unembedding,
    bias: parameters.b_unembedding,
  };
}

/**
 * The tensors and parameters of a role's own step, by their names in the equation: [kind of need, name].
 * @param {Step} step @returns {Object<string, ["tensor"|"weight", string]>}
 */
export function tapNames(step) {
  const attention = /** @type {Attention} */ (step.attention);
  const identity = identityOf(attention, roleOf(step));
  const all = [roleOf(step), ...(isKnown(identity) ? (identity?.of ?? []) : [])];
  const name = (/** @type {string} */ one) =>
    attention.roles[one] ? ["tensor", tapIn(step, one)] : ["weight", attention.parameters[one]?.[step.layer]];
  return Object.fromEntries(all.map((one) => [one, name(one)]).filter(([, [, found]]) => found));
}
