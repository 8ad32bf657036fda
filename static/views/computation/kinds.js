/**
 * What each kind of step shows and computes. To add one: its object in a file in this folder, a line here and in needs.js, a
 * place in steps.js.
 */

import { can, has, isRms } from "../../model/description.js";
import { weighsKeys } from "../../model/weight_arithmetic.js";
import { hasString, t } from "../../ui/i18n.js";
import { roleName } from "../formulas.js";
import { answer, logits } from "./answer.js";
import { av, mask, scale, scores, softmaxStep } from "./attention.js";
import { ACTIVATIONS, receive, shift, shift_r } from "./channel.js";
import { embed, tokens } from "./embed.js";
import { concat, heads, k, q, up, v, w1, w2, wo, wr } from "./projections.js";
import { feature, role, SUMS } from "./role.js";
import { roleOf } from "./steps.js";
import { before, final, norm, residual, rest, start } from "./stream.js";
import { NORMS } from "./taps.js";

/**
 * @import { Attention, Model } from "../../model/description.js"
 * @import { Actions } from "../view.js"
 * @import { Context } from "./matrices.js"
 * @import { Arithmetic, Picture } from "./product.js"
 * @import { Step } from "./steps.js"
 */

// Which functions of the model's code compute a step: names of `/api/source`.

/** @type {Object<string, string[]>} */
const BY_KIND = {
  embed: ["embed"],
  q: ["project"],
  k: ["project"],
  v: ["project"],
  heads: ["split_heads"],
  scores: ["attend"],
  scale: ["attend"],
  mask: ["causal", "padding"],
  softmax: ["masked_softmax"],
  av: ["attend"],
  concat: ["attention"],
  wo: ["attention"],
  w1: ["feed_forward"],
  relu: ["feed_forward"],
  w2: ["feed_forward"],
  answer: ["distribution"],
};
/** A residual connection, by the place of its LayerNorm. @type {Object<string, string>} */
const RESIDUAL = { pre: "pre_norm", post: "post_norm", "res-post": "res_post_norm" };

/**
 * The functions that compute a step; none for a mechanism other than softmax, or a model that is not built from our
 * modules.
 * @param {Step} step @param {Model} model @returns {string[]}
 */
export function sourcesOf({ kind, attention, sublayer }, model) {
  if (!can(model, "parameters")) return [];
  if (attention && attention.kind !== "softmax") return [];
  if (kind === "residual") return sublayer?.norm ? [RESIDUAL[sublayer.norm.place]] : [];
  return BY_KIND[kind] ?? [];
}

/**
 * @template {Context} [Of=Context]  what its steps have: HeadContext, where they are an attention's
 * @typedef {Object} Kind
 * @property {(step: Of["step"], context: Of) => Node|Node[]} formula
 * @property {(context: Of) => Picture} [picture]
 * @property {(context: Of, picture: Picture, row: number, col: number) => Arithmetic} [explain]
 * @property {(context: Of, actions: Actions) => Node} [list]  instead of a picture
 * @property {(step: Of["step"]) => string|null} [note]  one more sentence about it
 * @property {(step: Of["step"]) => number} [leads]  the block that it links to
 */

/** @type {Object<string, Kind<any>>} */
const STEP_KINDS = {
  tokens,
  embed,
  start,
  before,
  norm,
  q,
  k,
  v,
  heads,
  scores,
  scale,
  mask,
  softmax: softmaxStep,
  feature,
  av,
  concat,
  wo,
  residual,
  ...SUMS,
  w1,
  up,
  ...ACTIVATIONS,
  w2,
  shift,
  w2_gated: w2,
  shift_r,
  wr,
  receive,
  rest,
  final,
  logits,
  answer,
};

/** The kind of a step; a role without a separate kind uses the general one. @param {Step} step @returns {Kind} */
export const kindOf = ({ kind, attention }) =>
  (kind in SUMS && !weighsKeys(attention) ? undefined : STEP_KINDS[kind]) ?? /** @type {Kind<any>} */ (role);

/** A step's name in the catalogue: its kind, except of a norm that is an RMSNorm. @param {Step} step */
export const wordOfStep = (step) =>
  step.kind in NORMS && isRms(NORMS[/** @type {keyof typeof NORMS} */ (step.kind)](step)) ? "rms" : step.kind;

/** A role without a separate step, as the catalogue calls it there; null for other steps. @param {Step} step */
function roleWord(step) {
  const role = roleOf(step);
  const isNormed = role !== null && has(/** @type {Attention} */ (step.attention), `${role}_projected`);
  return isNormed ? `${role}_normed` : role;
}

/** The name of a step; a role without a separate step is called by its name. @param {Step} step */
export function stepName(step) {
  const role = roleWord(step);
  return role === null ? t(`computation.step.${wordOfStep(step)}`) : roleName(role);
}

/** @param {Step} step */
export function aboutStep(step) {
  const role = roleWord(step);
  const kind = wordOfStep(step);
  const own = hasString(`role.${role}.about`) ? `role.${role}.about` : "computation.about.role";
  return t(role === null ? `computation.about.${kind}` : own);
}
