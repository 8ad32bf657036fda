/**
 * The views on the stage, in the order of the forward pass: what each needs, and when a model has it. To add one: its
 * declaration here, its place in places.js, and a module with its `draw(root, trace, state, actions)`, which is loaded
 * when the view is first shown. view.js describes the fields; see also ../README.md.
 */

import { embeddingState } from "../data/embedding.js";
import { showsEffects } from "../data/explain.js";
import { lazily } from "../data/lazily.js";
import { drops, tabOf, tabsOf, trainingState } from "../data/training.js";
import { isCompared, isDifference, namesBefore } from "../model/compare/runs.js";
import { attentionOf, can, has, parameterOf, predictsTokens, stacksOf, tapOf } from "../model/description.js";
import { parameterNeeds, tensorNeeds } from "../model/taps.js";
import { knowsValues, needsOfScores, needsOfWeights, weighsKeys } from "../model/weight_arithmetic.js";
import { attentionSteps, averageNeeds, chosenIn, openAttentionStep } from "./attention/steps.js";
import { inspectorOf, knownOf } from "./computation/needs.js";
import { openStep, stationOf, walkSteps } from "./computation/steps.js";
import { openFfn, openFfnStep } from "./ffn/data.js";
import {
  EMBEDDING_TABS,
  embeddingTabOf,
  hasTab,
  PREDICTION_TABS,
  predictionTabOf,
  predictionTabsOf,
  residualNeeds,
  shownStack,
} from "./tabs.js";
import {
  attentionState,
  avState,
  costState,
  ffnState,
  gateState,
  predictionState,
  residualState,
  rotationState,
  showsAllTokens,
  walkState,
} from "./view_states.js";

/**
 * @import { Model } from "../model/description.js"
 * @import { State } from "../state/store.js"
 * @import { View } from "./view.js"
 */

/** The model: its river whole, with every head. It has no picture of its own. @type {View} */
const model = {
  id: "model",
  needs: [],
  draw() {},
};

/** Tokens: the text in pieces, with their bytes. @type {View} */
const tokens = {
  id: "tokens",
  // Other tokenizers read text.
  needs: (state, model) => (model.picture ? [] : ["counts"]),
  ...lazily(() => import("./tokens.js")),
};

/**
 * Embedding + position: what the first layer reads, the positions, what they are for, and a token's neighbours.
 * @type {View}
 */
const embedding = {
  id: "embedding",
  viewState: embeddingState,
  // A saved trace only has the tensors of the sum. The other tabs stay visible, so that they lead back.
  needs(state, model) {
    const tab = embeddingTabOf(state, model);
    if (state.file !== null && tab !== "sum") return [];
    return EMBEDDING_TABS[tab](shownStack(state, model));
  },
  // Beside the sum, the neighbours of the chosen token.
  also: (state, model) =>
    embeddingTabOf(state, model) === "sum" && hasTab("neighbours", model) && state.file === null
      ? EMBEDDING_TABS.neighbours(shownStack(state, model))
      : [],
  ...lazily(() => import("./embedding/draw.js")),
};

/**
 * Q, K and V of one head: for each token what it looks for, what it is found by, and what it passes on.
 * @type {View}
 */
const qkv = {
  id: "qkv",
  ofHead: true,
  roles: ["q", "k", "v"],
  needs: (state, model) => ["detail", ...bothNeeds(state, model)],
  ...lazily(() => import("./qkv.js")),
};

const LEARNED_PARAMETERS = ["table_k", "table_v", "kernel", "gamma", "beta", "bias_query", "bias_key"];

/**
 * What was learned about positions: vectors or a bias for each distance, or a bias for each pair of positions.
 * @type {View}
 */
const distance = {
  id: "distance",
  has: (model, state) => LEARNED_PARAMETERS.some((name) => name in attentionOf(model, state?.attention).parameters),
  needs(state, model) {
    const attention = attentionOf(model, state.attention);
    const shown = has(attention, "position_bias") ? ["role:position_bias"] : [];
    return [
      "detail",
      ...shown,
      ...parameterNeeds(...LEARNED_PARAMETERS.map((name) => parameterOf(attention, state.layer, name))),
    ];
  },
  ...lazily(() => import("./distance/draw.js")),
};

/** Rotary positions: each pair of dimensions of q and k, before and after it is turned. @type {View} */
const rotation = {
  id: "rotation",
  ofHead: true,
  roles: ["q", "k", "q_rotated", "k_rotated", "scores"],
  inspector: "weight",
  viewState: rotationState,
  needs: ["detail", "role:q_rotated", "role:k_rotated"],
  ...lazily(() => import("./rotation.js")),
};

/** @param {State} state @param {Model} model */
const openStepName = (state, model) => openAttentionStep(attentionOf(model, state.attention), state);

/**
 * What position adds, and the weights of one feature.
 * @param {string|undefined} step @param {State} state @param {Model} model
 */
function termNeeds(step, state, model) {
  const attention = attentionOf(model, state.attention);
  return step === "bias" || step === "feature" ? needsOfWeights(attention, state.layer, step === "feature") : [];
}

/** The head in the run that this one is compared with. @param {State} state @param {Model} model */
const bothNeeds = (state, model) => (isCompared(state, model) ? ["compared_detail"] : []);

/** Lines of other heads than the open one need them all. @param {State} state @param {Model} model */
function weightNeeds(state, model) {
  const { as, heads, average } = attentionState.of(state);
  if (state.compare) return [];
  if (as === "lines") return heads !== null ? ["heads"] : [];
  return averageNeeds(average, attentionOf(model, state.attention), state.layer);
}

const attentionPicture = lazily(() => import("./attention/draw.js"));

/**
 * Attention, step by step: A = softmax(QKᵀ/√d_k + M), what the open head looks at; or before | after a change of the
 * masks.
 * @type {View}
 */
const attention = {
  id: "attention",
  ofHead: true,
  /** A mask alone answers nothing. */
  gives: (state, model) => (has(attentionOf(model, state.attention), "overview") ? "attention" : undefined),
  has: (model, state) => attentionSteps(attentionOf(model, state.attention)).length > 0,
  called: openStepName,
  inspector: (state, model) => (weighsKeys(attentionOf(model, state.attention)) ? "feature" : "weight"),
  viewState: attentionState,
  needs(state, model) {
    const step = openAttentionStep(attentionOf(model, state.attention), state);
    const terms = step === "weights" ? [] : termNeeds(step, state, model);
    return ["detail", ...bothNeeds(state, model), ...(step === "weights" ? weightNeeds(state, model) : terms)];
  },
  also: (state) => (namesBefore(state) ? ["compared_detail"] : []), // what stood in a cell, struck out
  draw: attentionPicture.draw,
  load: (state, model) => Promise.all([attentionPicture, ...chosenIn(state, model)].map(({ load }) => load())),
};

/**
 * RWKV's memory: how fast each channel forgets, and the two sums of the state, which grow token by token.
 * @type {View}
 */
const decay = {
  id: "decay",
  ofHead: true,
  gives: "attention",
  has(model, state) {
    const attention = attentionOf(model, state?.attention);
    return "decay" in attention.parameters && has(attention, "mixed");
  },
  inspector: "feature",
  needs: (state, model) => [
    ...["detail", "role:mixed", "role:gate", "role:z"],
    ...needsOfWeights(attentionOf(model, state.attention), state.layer, false),
  ],
  ...lazily(() => import("./decay.js")),
};

/** Without a QKᵀ: numerator ÷ denominator, times the gate σ(q), which is all that a query decides. @type {View} */
const gate = {
  id: "gate",
  ofHead: true,
  gives: "attention",
  roles: ["gate", "mixed", "numerator", "denominator", "z"],
  inspector: "role",
  viewState: gateState,
  needs: ["detail", "role:numerator", "role:denominator", "role:mixed", "role:gate", "role:z"],
  ...lazily(() => import("./gate.js")),
};

/** A·V: what each token receives from the open head, as the weighted sum of the values it looks at. @type {View} */
const av = {
  id: "av",
  ofHead: true,
  gives: "attention",
  roles: ["pattern", "mask", "v", "z"],
  viewState: avState,
  inspector: "z",
  has: (model, state) => knowsValues(attentionOf(model, state?.attention)),
  needs(state, model) {
    const attention = attentionOf(model, state.attention);
    const before = isCompared(state, model) ? [`tensor_before:${tapOf(attention, state.layer, "z")}`] : [];
    return ["detail", "role:z", ...before, ...needsOfScores(attention, state.layer)];
  },
  ...lazily(() => import("./av/draw.js")),
};

/** @param {{kind: string}} sublayer */
const isFfn = ({ kind }) => kind === "ffn";

/**
 * The FFN of a layer: its units on each token before and after the activation, and the strongest tokens of a unit.
 * @type {View}
 */
const ffn = {
  id: "ffn",
  gives: (_, model) => (can(model, "units") ? "units" : undefined),
  has: (model) => stacksOf(model).some(({ layers }) => layers.some((layer) => layer.sublayers.some(isFfn))),
  viewState: ffnState,
  inspector: "unit",
  needs(state, model) {
    const { pre, post } = openFfn(state, model);
    const { tap } = openFfnStep(ffnState.of(state).shown, state, model);
    return [...new Set(tensorNeeds(pre, post, tap)), ...(can(model, "units") ? ["explain:units"] : [])];
  },
  also(state, model) {
    const effects = showsEffects(state, model) ? ["ablations"] : []; // for its switch
    if (!isDifference(state)) return effects;
    const { pre, post } = openFfn(state, model);
    const taps = new Set([pre, post, openFfnStep(ffnState.of(state).shown, state, model).tap]);
    return [...effects, ...[...taps].map((tap) => `tensor_before:${tap}`)];
  },
  ...lazily(() => import("./ffn/draw.js")),
};

/**
 * The residual stream: its length, what each sublayer writes to it, what LayerNorm does to it, and what it is for.
 * @type {View}
 */
const residual = {
  id: "residual",
  has: (model) => can(model, "gradients") && can(model, "parameters"),
  viewState: residualState,
  inspector: (state) => (residualState.of(state).tab === "norms" ? "norm" : null),
  saysWhatLacks: true, // the other tabs lead on
  needs: residualNeeds,
  ...lazily(() => import("./residual/draw.js")),
};

const predictionFrame = lazily(() => import("./prediction/draw.js"));

/**
 * Prediction: row t's logits as probabilities of the token t+1, or what each layer would have answered.
 * @type {View}
 */
const prediction = {
  id: "prediction",
  gives: "end",
  viewState: predictionState,
  inspector: (state, model) => (predictionTabOf(state, model) === "token" && !showsAllTokens(state) ? null : "logit"), // the cards
  has: (model) => predictionTabsOf(model).length > 0,
  called: (state, model) => (predictionTabOf(state, model) === "layers" ? "by-layer" : "prediction"),
  // By layer, the last depth must equal the model's own prediction; a classifier's classes come with the trace.
  needs: (state, model) => [
    ...(predictionTabOf(state, model) === "layers" ? ["explain:lens"] : []),
    ...(predictsTokens(model) ? ["prediction"] : []),
  ],
  // The cards of what adds up to the logit.
  also: (state, model) =>
    predictionTabOf(state, model) === "token" && can(model, "contributions") ? ["explain:contributions"] : [],
  draw: predictionFrame.draw,
  load: (state, model) =>
    Promise.all(
      [
        predictionFrame,
        ...(state && model ? [PREDICTION_TABS[predictionTabOf(state, model)]] : Object.values(PREDICTION_TABS)),
      ].map(({ load }) => load()),
    ),
};

/** Training: the loss of every token of this sentence, and how this model was trained. @type {View} */
const training = {
  id: "training",
  viewState: trainingState,
  has: (model) => tabsOf(model).length > 0,
  gives: (state, model) => (tabOf(state, model) === "forcing" ? "end" : undefined), // at the last row
  called: (state, model) => `training-${tabOf(state, model)}`,
  needs: (state, model) => (tabOf(state, model) === "forcing" ? ["explain:forcing"] : []),
  also(state, model) {
    if (tabOf(state, model) === "forcing") return ["explain:prefix"];
    if (tabOf(state, model) === "alike") return [];
    const losses = tabsOf(model).includes("forcing") ? ["explain:forcing"] : []; // what smoothing makes of them
    return [...losses, ...(drops(model) ? ["explain:dropout"] : [])];
  },
  ...lazily(() => import("./training/draw.js")),
};

/**
 * What one layer's attention costs as the text grows, in every mechanism: by formula, and measured on request.
 * @type {View}
 */
const cost = {
  id: "cost",
  viewState: costState,
  needs: ["explain:cost"],
  ...lazily(() => import("./cost/draw.js")),
};

/** @param {State} state @param {Model} model */
const openWalkStep = (state, model) => openStep(walkSteps(model, state), model, state);

/**
 * The walk of one token, or of the whole sequence, through one block: formula by formula, each beside its matrices,
 * and for any element of a result the row and the column it comes from.
 * @type {View}
 */
export const computation = {
  id: "computation",
  ofHead: true,
  called: (state, model) => openWalkStep(state, model).id,
  viewState: walkState,
  within: (state, model) => stationOf(openWalkStep(state, model)),
  saysWhatLacks: true, // the walk continues without it
  needs(state, model) {
    const step = openWalkStep(state, model);
    return knownOf(step).needs(step, model);
  },
  inspector: (state, model) => inspectorOf(openWalkStep(state, model)),
  gives: (state, model) => knownOf(openWalkStep(state, model)).gives,
  ...lazily(() => import("./computation/draw.js")),
};

/** @type {View[]} */
export const VIEWS = [
  model,
  tokens,
  embedding,
  qkv,
  distance,
  rotation,
  attention,
  decay,
  gate,
  av,
  ffn,
  residual,
  prediction,
  training,
  cost,
  computation,
];
