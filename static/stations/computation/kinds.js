/**
 * What each kind of step shows and computes. To add one: its object in a file in this folder, a line here and in needs.js, a
 * place in steps.js.
 */

import { has, isRms } from "../../model/description.js";
import { weighsKeys } from "../../model/mechanism_needs.js";
import { hasString, t } from "../../ui/i18n.js";
import { roleName } from "../role_formulas.js";
import { ACTIVATIONS } from "./activation.js";
import { answer, logits } from "./answer.js";
import { av, mask, scale, scores } from "./attention.js";
import { receive, shift, shift_r } from "./channel.js";
import { embed } from "./embed.js";
import { feature } from "./feature.js";
import { concat, heads } from "./heads.js";
import { final, norm, start } from "./norms.js";
import { k, q, up, v, w1, w2, wo, wr } from "./projections.js";
import { role } from "./role.js";
import { softmaxStep } from "./softmax.js";
import { roleOf } from "./steps.js";
import { before, residual, rest } from "./stream.js";
import { SUMS } from "./sums.js";
import { NORMS } from "./taps.js";
import { tokens } from "./token_step.js";

/**
 * @import { Actions } from "../index.js"
 * @import { Context } from "./context.js"
 * @import { Arithmetic, Picture } from "./product.js"
 * @import { Step } from "./steps.js"
 */

/**
 * @typedef {Object} Kind
 * @property {(step: Step, context: Context) => Node|Node[]} formula
 * @property {(context: Context) => Picture} [picture]
 * @property {(context: Context, picture: Picture, row: number, col: number) => Arithmetic} [explain]
 * @property {(context: Context, actions: Actions) => Node} [list]  instead
 * of a picture
 * @property {(step: Step) => string|null} [note]  one more sentence about it
 * @property {(step: Step) => number} [leads]  the block that it links to
 */

/** @type {Object<string, Kind>} */
export const KINDS = {
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

/** The kind of a step; a role without a kind of its own uses the general one. @param {Step} step @returns {Kind} */
export const kindOf = ({ kind, attention }) =>
  (kind in SUMS && !weighsKeys(attention) ? undefined : KINDS[kind]) ?? role;

/** A step's name in the catalogue: its kind, except of a norm that is an RMSNorm. @param {Step} step */
export const wordOfStep = (step) => (isRms(NORMS[step.kind]?.(step)) ? "rms" : step.kind);

/** A role without a step of its own, as the catalogue calls it there; null for other steps. @param {Step} step */
function roleWord(step) {
  const role = roleOf(step);
  const isNormed = role !== null && has(/** @type {any} */ (step.attention), `${role}_projected`);
  return isNormed ? `${role}_normed` : role;
}

/** The name of a step; a role without a step of its own is called by its name. @param {Step} step */
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
