/** What a step does, in a sentence. */

import { scalesProducts, showsMeans } from "../../model/description.js";
import { biasRole, weighsKeys } from "../../model/mechanism_needs.js";
import { number } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { stepsOf } from "./steps.js";

/**
 * @import { Detail } from "../../data/model_trace.js"
 * @import { Attention } from "../../model/description.js"
 * @import { StepName } from "./steps.js"
 */

/** @param {StepName} step @param {Attention} attention @param {Detail} detail @param {number} [feature] */
export function saysOf(step, attention, detail, feature = 0) {
  const { d_head: d } = attention;
  return t(`attention.says.${keyOf(step, attention, detail)}`, { d, f: feature, root: number(Math.sqrt(d), 2) });
}

/** @param {StepName} step @param {Attention} attention @param {Detail} detail */
function keyOf(step, attention, { mask }) {
  if (step === "added") return String(biasRole(attention));
  if (step === "content" && !scalesProducts(attention)) return "content_unscaled";
  if (step === "scaled" && stepsOf(attention).includes("added")) return "sum_bias";
  if (step === "scaled" && stepsOf(attention).includes("content")) return "sum";
  if (step === "scaled" && !scalesProducts(attention)) return "unscaled";
  if (step === "scaled" && !stepsOf(attention).includes("qk")) return "scores";
  if (step === "bias") return attention.roles.position_bias.dims.startsWith("head") ? "bias_head" : "bias";
  if (step === "masked" && weighsKeys(attention)) return mask.data.some(Boolean) ? "left_out" : "unmasked";
  if (step === "weights" && showsMeans(attention)) return "mean";
  if (step === "weights" && weighsKeys(attention)) return "keys";
  if (step === "masked") return mask.data.some(Boolean) ? "masked" : "unmasked";
  return step === "weights" && attention.overview !== "pattern" ? "overview" : step;
}
