/**
 * What each kind of step needs, and what the inspector explains at it, both known before its picture is loaded. No DOM.
 */

import { ACTIVATION_STEPS, answersTokens, has } from "../../model/description.js";
import { parameterNeeds, tensorNeeds } from "../../model/taps.js";
import { knowsScores, needsOfWeights, weighsKeys } from "../../model/weight_arithmetic.js";
import { roleOf } from "./steps.js";
import { answerOf, LINEAR, NORMS, SHIFTED, SKIPPED, streamStart, sumOf, tapIn, tapNames } from "./taps.js";

/**
 * @import { Attention } from "../../model/description.js"
 * @import { Given } from "../view.js"
 * @import { Step } from "./steps.js"
 */

/**
 * @typedef {Object} Known
 * @property {string|null} inspector  what the inspector explains at this step; null: nothing besides the walk's arithmetic
 * @property {Given} [gives]  as a view's
 * @property {(step: Step, model: any) => string[]} needs
 */

/** @param {keyof typeof LINEAR} kind @param {string|null} inspector @returns {Known} */
const linear = (kind, inspector) => ({
  inspector,
  needs(step, model) {
    const { input, output, weight, bias } = LINEAR[kind](step, model);
    return [...tensorNeeds(input, output), ...parameterNeeds(weight, bias)];
  },
});

/** @param {keyof typeof NORMS} kind @returns {Known} */
const layerNorm = (kind) => ({
  inspector: "norm",
  needs(step) {
    const { roles, parameters } = NORMS[kind](step);
    return [...tensorNeeds(roles.input.tap, roles.out.tap), ...parameterNeeds(parameters.gain, parameters.bias)];
  },
});

/** @param {keyof typeof SKIPPED} kind @returns {Known} */
const skipped = (kind) => ({ inspector: null, needs: (step) => tensorNeeds(...Object.values(SKIPPED[kind](step))) });

/** @param {keyof typeof SHIFTED} kind @returns {Known} */
const shifted = (kind) => ({
  inspector: null,
  needs(step) {
    const { input, output, share } = SHIFTED[kind](step);
    return [...tensorNeeds(input, output), ...parameterNeeds(share)];
  },
});

/** @param {Step} step */
const featureNeeds = ({ attention, layer }) => needsOfWeights(/** @type {Attention} */ (attention), layer, true);

/** @type {Known} one head, of the attention's own numbers */
const ofHead = { inspector: "weight", gives: "attention", needs: () => ["detail"] };

/** @type {Known} */
const activated = {
  inspector: "unit",
  needs: ({ sublayer: { gate, roles } }) =>
    tensorNeeds(roles.pre.tap, roles.post.tap, ...(gate === null ? [] : [roles[gate].tap])),
};

/** @type {Object<string, Known>} */
const KNOWN = {
  tokens: { inspector: null, needs: () => [] },
  embed: {
    inspector: null,
    needs: ({ stack }) =>
      tensorNeeds(...Object.values(stack.embedding.roles).map(({ tap }) => tap), streamStart(stack)),
  },
  start: layerNorm("start"),
  before: skipped("before"),
  norm: layerNorm("norm"),
  q: linear("q", null),
  k: linear("k", null),
  v: linear("v", null),
  heads: { inspector: null, needs: (step) => tensorNeeds(...["q", "k", "v"].map((name) => tapIn(step, name))) },
  scores: ofHead,
  scale: ofHead,
  mask: ofHead,
  softmax: ofHead,
  feature: { inspector: "feature", gives: "attention", needs: (step) => ["detail", ...featureNeeds(step)] },
  av: { inspector: "z", gives: "attention", needs: (step) => ["detail", ...tensorNeeds(tapIn(step, "z"))] },
  concat: { inspector: null, needs: (step) => tensorNeeds(tapIn(step, "z")) },
  wo: linear("wo", null),
  residual: { inspector: null, needs: ({ sublayer }) => tensorNeeds(...Object.values(sumOf(sublayer))) },
  w1: linear("w1", "unit"),
  up: linear("up", "unit"),
  ...Object.fromEntries(ACTIVATION_STEPS.map((name) => [name, activated])),
  w2: linear("w2", "unit"),
  shift: shifted("shift"),
  w2_gated: linear("w2", "unit"),
  shift_r: shifted("shift_r"),
  wr: linear("wr", null),
  receive: {
    inspector: null,
    needs: ({ sublayer: { roles, writes } }) => tensorNeeds(roles.receptance.tap, roles.value.tap, writes.tap),
  },
  rest: skipped("rest"),
  final: layerNorm("final"),
  logits: {
    inspector: "logit",
    gives: "end",
    needs(step, model) {
      const { state, tap, table, bias } = answerOf(model);
      const read = answersTokens(model) ? ["prediction", `rows:${table}`] : parameterNeeds(table);
      return [...tensorNeeds(state, tap), ...read, ...parameterNeeds(bias)];
    },
  },
  answer: {
    inspector: "logit",
    gives: "end",
    needs: (step, model) => [...tensorNeeds(answerOf(model).tap), ...(answersTokens(model) ? ["prediction"] : [])],
  },
};

/** Whether a role's step reads the open head: a role of queries and keys, to hatch what is forbidden; the sums. @param {Step} step */
function ofDetail({ attention, kind }) {
  const role = roleOf({ kind });
  if (attention?.roles[role].dims.endsWith("query key")) return true;
  return weighsKeys(attention) && ["numerator", "denominator"].includes(role);
}

/** @type {Known} */
const ROLE = {
  inspector: "role",
  needs: (step) => [
    ...(ofDetail(step)
      ? ["detail", ...needsOfWeights(/** @type {Attention} */ (step.attention), step.layer, false)]
      : []),
    ...Object.values(tapNames(step)).map(([kind, name]) => `${kind}:${name}`),
  ],
};

/** The steps of an attention beside which the arithmetic of its chosen weight stands, where the page knows it: it stays while Play goes on. */
const OF_WEIGHT = ["q", "k", "v", "heads", "av", "concat", "wo", "residual"];

/** What the inspector explains at a step. @param {Step} step @returns {string|null} */
export function inspectorOf(step) {
  const { attention, kind } = step;
  const known =
    OF_WEIGHT.includes(kind) && knowsScores(attention) && has(/** @type {Attention} */ (attention), "pattern");
  return known ? "weight" : knownOf(step).inspector;
}

/** What is known of a step's kind; for a role without a separate kind, what its equation names. @param {Step} step @returns {Known} */
export const knownOf = (step) => KNOWN[step.kind] ?? ROLE;
