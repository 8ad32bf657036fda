/**
 * From QKᵀ to the weights: QKᵀ › ÷√d › + M › softmax. An attention has the steps that its roles allow: with a bound QKᵀ÷√d › tanh › + M; with relative positions
 * content › distance (or a bias by position) › their sum › + M › softmax, without a QKᵀ what position adds › M › one feature › the mean of all. No DOM.
 */

import { lazily, lazy } from "../../data/lazily.js";
import { isCompared } from "../../model/compare/runs.js";
import { has, overviewOf, scoresDotProducts, weighsFeatures } from "../../model/description.js";
import { tensorNeeds } from "../../model/taps.js";
import { biasRole } from "../../model/weight_arithmetic.js";
import { attentionState } from "../view_states.js";

/**
 * @import { Attention, Model } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 * @import { ViewStates } from "../../state/view_state.js"
 */

/** Pictures of the weights that are loaded when they are chosen: before and after a change, and lines. */
export const both = lazily(() => import("./before_after.js"));
export const lines = lazy(() => import("./lines.js"));

/** The pictures that a state shows; without a state, all. @param {State} [state] @param {Model} [model] */
export function chosenIn(state, model) {
  if (!state) return [both, lines];
  if (state.compare) return isCompared(state, model) ? [both] : [];
  return attentionState.of(state).as === "lines" ? [lines] : [];
}

/** @typedef {"content"|"distance"|"added"|"qk"|"uncapped"|"scaled"|"bias"|"masked"|"feature"|"weights"} StepName */

/** In their order. @type {StepName[]} */
const NAMES = ["content", "distance", "added", "qk", "uncapped", "scaled", "bias", "masked", "feature", "weights"];

/** @type {Record<StepName, (attention: Attention) => boolean>} */
const IS_THERE = {
  content: (attention) => has(attention, "content_scores"),
  distance: (attention) => has(attention, "relative_scores"),
  added: (attention) => biasRole(attention) !== null,
  qk: scoresDotProducts,
  uncapped: (attention) => has(attention, "uncapped_scores"),
  scaled: (attention) => has(attention, "scores"),
  bias: (attention) => has(attention, "position_bias"),
  masked: (attention) => has(attention, "mask"),
  feature: weighsFeatures,
  weights: (attention) => has(attention, "overview"),
};

/** @param {Attention} attention @returns {StepName[]} */
export const attentionSteps = (attention) => NAMES.filter((name) => IS_THERE[name](attention));

/**
 * The open step: the one that the state asks for, otherwise the last.
 * @param {Attention} attention @param {{viewState: ViewStates}} state @returns {StepName|undefined}
 */
export function openAttentionStep(attention, state) {
  const steps = attentionSteps(attention);
  const { step } = attentionState.of(state);
  return steps.includes(step) ? step : steps.at(-1);
}

/** The weights that an average is made of. @param {string} average @param {Attention} attention @param {number} layer @returns {string[]} */
export function averageNeeds(average, attention, layer) {
  if (average === "head") return [];
  const taps = attention.roles[overviewOf(attention) ?? ""]?.taps ?? [];
  return tensorNeeds(...(average.endsWith("heads") ? [taps[layer]] : taps));
}

/** Whether the reader took the pencil: no step takes it. @param {{viewState: ViewStates}} state */
export const isPencilOn = (state) => attentionState.of(state).pencil === "on";
