/** Attention, step by step: A = softmax(QKᵀ/√d_k + M), what the open head looks at; or before | after a change of the masks. */

import { lazily } from "../../data/lazily.js";
import { isCompared } from "../../model/compare/runs.js";
import { attentionOf, has } from "../../model/description.js";
import { needsOfWeights, weighsKeys } from "../../model/mechanism_needs.js";
import { chosenIn } from "./chosen.js";
import { own } from "./own.js";
import { stepOf, stepsOf } from "./steps.js";

const openStep = (state, model) => stepOf(attentionOf(model, state.attention), state);

/** What position adds, and the weights of one feature. */
function ownNeeds(step, state, model) {
  const attention = attentionOf(model, state.attention);
  return step === "bias" || step === "feature" ? needsOfWeights(attention, state.layer, step === "feature") : [];
}

/** Lines of other heads than the open one need them all. */
function weightNeeds(state, model) {
  const { as, heads } = own.of(state);
  if (isCompared(state, model)) return ["compared_detail"];
  return !state.compare && as === "lines" && heads !== null ? ["heads"] : [];
}

const picture = lazily(() => import("./draw.js"));

export default {
  id: "attention",
  ofHead: true,
  /** A mask alone answers nothing. */
  gives: (state, model) => (has(attentionOf(model, state.attention), "overview") ? "attention" : undefined),
  has: (model, state) => stepsOf(attentionOf(model, state.attention)).length > 0,
  called: openStep,
  inspector: (state, model) => (weighsKeys(attentionOf(model, state.attention)) ? "feature" : "weight"),
  own,
  needs(state, model) {
    const step = openStep(state, model);
    return ["detail", ...(step === "weights" ? weightNeeds(state, model) : ownNeeds(step, state, model))];
  },
  draw: picture.draw,
  load: (state, model) => Promise.all([picture, ...chosenIn(state, model)].map(({ load }) => load())),
};
