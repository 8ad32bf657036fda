/** What a step does, in a sentence. */

import { number } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { stepsOf } from "./steps.js";

/** @typedef {import("../../model/description.js").Attention} Attention */

/** @param {import("./steps.js").StepName} step @param {Attention} attention @param {import("../../data/model_trace.js").Detail} detail */
export function saysOf(step, attention, detail) {
  const { d_head: d } = attention;
  return t(`attention.says.${keyOf(step, attention, detail)}`, { d, root: number(Math.sqrt(d), 2) });
}

/** @param {import("./steps.js").StepName} step @param {Attention} attention @param {import("../../data/model_trace.js").Detail} detail */
function keyOf(step, attention, { mask }) {
  if (step === "masked") return mask.data.some(Boolean) ? "masked" : "unmasked";
  if (step === "scaled" && !stepsOf(attention).includes("qk")) return "scores";
  return step === "weights" && attention.overview !== "pattern" ? "overview" : step;
}
