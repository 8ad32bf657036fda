/**
 * From QKᵀ to the weights: QKᵀ › ÷√d › + M › softmax. An attention has the steps that its roles allow: with relative positions
 * content › distance (or a bias by position) › their sum › + M › softmax, without a QKᵀ what position adds › M › one feature › the mean of all. No DOM.
 */

import { has, scoresDotProducts, weighsFeatures } from "../../model/description.js";
import { biasRole } from "../../model/mechanism_needs.js";
import { own } from "./own.js";

/**
 * @import { Attention } from "../../model/description.js"
 * @import { OwnValues } from "../../state/own.js"
 */

/** @typedef {"content"|"distance"|"added"|"qk"|"scaled"|"bias"|"masked"|"feature"|"weights"} StepName */

/** In their order. @type {StepName[]} */
const NAMES = ["content", "distance", "added", "qk", "scaled", "bias", "masked", "feature", "weights"];

/** @type {Record<StepName, (attention: Attention) => boolean>} */
const IS_THERE = {
  content: (attention) => has(attention, "content_scores"),
  distance: (attention) => has(attention, "relative_scores"),
  added: (attention) => biasRole(attention) !== null,
  qk: scoresDotProducts,
  scaled: (attention) => has(attention, "scores"),
  bias: (attention) => has(attention, "position_bias"),
  masked: (attention) => has(attention, "mask"),
  feature: weighsFeatures,
  weights: (attention) => has(attention, "overview"),
};

/** @param {Attention} attention @returns {StepName[]} */
export const stepsOf = (attention) => NAMES.filter((name) => IS_THERE[name](attention));

/**
 * The open one: what the state asks for, otherwise the last.
 * @param {Attention} attention @param {{own: OwnValues}} state @returns {StepName|undefined}
 */
export function stepOf(attention, state) {
  const steps = stepsOf(attention);
  const { step } = own.of(state);
  return steps.includes(step) ? step : steps.at(-1);
}
