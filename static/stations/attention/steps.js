/** From QKᵀ to the weights: QKᵀ › ÷√d › + M › softmax. An attention has the steps that its roles allow. No DOM. */

import { has, scoresDotProducts } from "../../model/description.js";
import { own } from "./own.js";

/** @typedef {"qk"|"scaled"|"masked"|"weights"} StepName  @typedef {import("../../model/description.js").Attention} Attention */

/** In their order. @type {StepName[]} */
const NAMES = ["qk", "scaled", "masked", "weights"];

/** @type {Record<StepName, (attention: Attention) => boolean>} */
const IS_THERE = {
  qk: scoresDotProducts,
  scaled: (attention) => has(attention, "scores"),
  masked: (attention) => has(attention, "mask"),
  weights: (attention) => has(attention, "overview"),
};

/** @param {Attention} attention @returns {StepName[]} */
export const stepsOf = (attention) => NAMES.filter((name) => IS_THERE[name](attention));

/**
 * The open one: what the state asks for, otherwise the last.
 * @param {Attention} attention @param {{own: import("../../state/own.js").OwnValues}} state @returns {StepName|undefined}
 */
export function stepOf(attention, state) {
  const steps = stepsOf(attention);
  const { step } = own.of(state);
  return steps.includes(step) ? step : steps.at(-1);
}
