/** The steps of the walk: what a stack and one of its blocks compute, in the order of the forward pass. No DOM. */

import {
  activationStep,
  answeringStack,
  attentionOf,
  has,
  hasResidual,
  identityOf,
  mixesChannels,
  scoresDotProducts,
  stackOf,
  sumsValues,
  weighsFeatures,
  wordOf,
} from "../../model/description.js";
import { openAttentionStep } from "../attention/steps.js";
import { walkState } from "../view_states.js";

/**
 * @import { Attention, Ffn, Model, Stack } from "../../model/description.js"
 * @import { Patch, State } from "../../state/store.js"
 */

/**
 * @typedef {Object} Step
 * @property {string} id  `${group}.${kind}`, as in the address
 * @property {"in"|"attn"|"cross_attn"|"ffn"|"out"} group
 * @property {string} kind  a name of kinds.js, or a role without a kind there
 * @property {Stack} stack
 * @property {number} layer  the open block
 * @property {any} sublayer  the description's sublayer that it belongs to; null outside the block
 * @property {Attention|null} attention  of that sublayer
 * @typedef {Step & {attention: Attention}} AttentionStep
 */

/**
 * The steps of an attention with the roles that they need; a step whose roles the attention lacks is left out.
 * @type {Object<string, string[]>}
 */
const ATTENTION = {
  q: ["q"],
  k: ["k"],
  v: ["v"],
  heads: ["q", "k", "v"],
  scores: ["q", "k", "scores"],
  scale: ["q", "k", "scores"],
  mask: ["scores", "mask"],
  softmax: ["scores", "mask", "pattern"],
  feature: ["k", "mask", "weights"],
  av: ["pattern", "mask", "v", "z"],
  concat: ["z"],
  wo: ["z", "attn_out"],
};
/** What else must hold of them. @type {Object<string, (attention: Attention) => boolean>} */
const WHERE = {
  q: isLinear("q"),
  k: isLinear("k"),
  v: isLinear("v"),
  heads: ({ roles }) => ["q", "k", "v"].every((role) => isMatrix(roles[role].dims)),
  scores: scoresDotProducts,
  scale: scoresDotProducts,
  feature: weighsFeatures,
  av: sumsValues,
  wo: ({ parameters }) => Boolean(parameters.w_o),
};
/** The steps that make a role, where they can; others name the role. @type {Object<string, string[]>} */
const MAKES = {
  q_projected: ["q"],
  k_projected: ["k"],
  q: ["q"],
  k: ["k"],
  v: ["v"],
  scores: ["scores", "scale"],
  mask: ["mask"],
  pattern: ["softmax"],
  weights: ["feature"],
  z: ["av"],
  head_out: [],
  attn_out: ["wo"],
};
/** @param {Ffn} ffn */
const ofFfn = (ffn) =>
  mixesChannels(ffn)
    ? ["shift", "w1", activationStep(ffn), "w2_gated", "shift_r", "wr", "receive"]
    : ["w1", ...(ffn.gate === null ? [] : ["up"]), activationStep(ffn), "w2"];

/**
 * Whether a projection is one Linear of the input: of no mix with the token before.
 * @param {string} name @returns {(attention: Attention) => boolean}
 */
function isLinear(name) {
  return ({ parameters, roles }) =>
    Boolean(parameters[`w_${name}`]) && !parameters[`mix_${name}`] && isDrawn(roles[name].dims);
}

/** What other steps do not read: what a head writes alone, and what is carried on to later tokens. */
const ASIDE = new Set(["head_out", "state_mean", "state_log_sum"]);

/** What everything else is made from comes first. */
const FIRST = ["q", "k", "v"];
/** Before a norm of each head, where there is one. */
const PROJECTED = ["q_projected", "k_projected"];

/**
 * The steps of one attention, in the order of its roles.
 * @param {Attention} attention
 */
function kindsOf(attention) {
  const can = (/** @type {string} */ kind) =>
    ATTENTION[kind].every((role) => has(attention, role)) && (WHERE[kind]?.(attention) ?? true);
  const first = [...PROJECTED, ...FIRST].filter((role) => has(attention, role));
  const roles = new Set([...first, ...Object.keys(attention.roles)]);
  const made = [...roles].flatMap((role) => {
    const kinds = has(attention, `${role}_projected`) ? [] : (MAKES[role] ?? []).filter(can);
    if (role === "z" && !kinds.length) return [...(identityOf(attention, role) ? [`${ROLE}z`] : []), "concat"];
    if (kinds.length || ASIDE.has(role) || !isDrawn(attention.roles[role].dims))
      return role === "z" ? [...kinds, "concat"] : kinds;
    return [`${ROLE}${role}`];
  });
  const last = Math.max(...FIRST.map((name) => made.indexOf(name)));
  return can("heads") ? made.toSpliced(last + 1, 0, "heads") : made;
}

/** A role without its own step gives the step its name. */
const ROLE = "role-";

/** The role of a step; null for a step with a name of its own. @param {{kind: string}} step @returns {string|any} */
export const roleOf = ({ kind }) => (kind.startsWith(ROLE) ? kind.slice(ROLE.length) : null);

/**
 * The role that the open step of the walk shows.
 * @param {Model} model @param {Pick<State, "attention"|"layer"|"viewState"|"view">} state @returns {string|null}
 */
export function shownRole(model, state) {
  return state.view === "computation" ? roleOf(openStep(walkSteps(model, state), model, state)) : null;
}

/** How many dimensions one head of the role has. @param {string} dims */
const depthIn = (dims) => dims.replace(/^(kv_)?head /, "").split(" ").length;
/** Whether one head of the role is a matrix. @param {string} dims */
const isMatrix = (dims) => depthIn(dims) === 2;
/** Or a column: one number for each token. @param {string} dims */
const isDrawn = (dims) => depthIn(dims) <= 2;

/**
 * The place of a sublayer's LayerNorm: before it, after the sum, or before the sum (model/block.py); "none": it has none.
 * @type {Object<string, (own: string[]) => string[]>}
 */
const ORDERS = {
  pre: (own) => ["norm", ...own, "residual"],
  post: (own) => [...own, "residual", "norm"],
  "res-post": (own) => [...own, "norm", "residual"],
  none: (own) => [...own, "residual"],
};

/**
 * @param {Model} model  a line of /api/models
 * @param {Pick<State, "attention"|"layer">} state
 * @returns {Step[]}
 */
export function walkSteps(model, { attention: id, layer }) {
  const stack = stackOf(model, attentionOf(model, id));
  /**
   * @param {Step["group"]} group @param {string} kind @param {Step["sublayer"]} [sublayer] @param {Step["attention"]} [attention]
   * @returns {Step}
   */
  const step = (group, kind, sublayer = null, attention = null) => ({
    id: `${group}.${kind}`,
    group,
    kind,
    stack,
    layer,
    sublayer,
    attention,
  });
  const block = stack.layers[layer].sublayers.flatMap((sublayer) => {
    const attention = sublayer.kind === "attention" ? attentionOf(model, sublayer.attention) : null;
    const inside = sublayer.kind === "ffn" ? ofFfn(sublayer) : kindsOf(attentionOf(model, sublayer.attention));
    const kinds = ORDERS[sublayer.norm?.place ?? "none"](inside);
    const done = kinds.filter((kind) => kind !== "residual" || hasResidual(sublayer));
    return done.map((kind) => step(wordOf(model, sublayer), kind, sublayer, attention));
  });
  const start = stack.embedding.norm ? ["start"] : [];
  const before = ["tokens", "embed", ...start, ...(layer > 0 ? ["before"] : [])];
  return [
    ...before.map((kind) => step("in", kind)),
    ...block,
    ...endOf(model, stack, layer).map((kind) => step("out", kind)),
  ];
}

/**
 * What follows the open block: the later blocks, the final LayerNorm and, if this stack gives the answer, the output.
 * @param {Model} model @param {Stack} stack @param {number} layer
 */
function endOf(model, stack, layer) {
  const answers = answeringStack(model) === stack;
  return [
    ...(layer < stack.layers.length - 1 ? ["rest"] : []),
    ...(stack.final_norm ? ["final"] : []),
    ...(answers && model.description.logits.parameters.unembedding ? ["logits"] : []),
    ...(answers ? ["answer"] : []),
  ];
}

/**
 * The open step. When a head of another attention of the stack is opened, the walk moves to the same step of that
 * attention.
 * @param {Step[]} steps @param {Model} model @param {Pick<State, "attention"|"viewState">} state
 * @returns {Step}
 */
export function openStep(steps, model, state) {
  const { step } = walkState.of(state);
  const { attention } = state;
  const kind = step?.split(".")[1];
  const group = step?.split(".")[0];
  const inAttention = group === "attn" || group === "cross_attn";
  const open = attentionOf(model, attention);
  const there = steps.find(
    (one) => one.kind === kind && (inAttention ? one.attention?.id === open.id : one.group === group),
  );
  return there ?? steps[0];
}

/** The change of the state that opens `step`. @param {Step} step @param {{plays?: boolean}} [more] */
export function firstSteps({ id, attention }, more = {}) {
  return { ...walkState.patch({ step: id, ...more }), ...(attention && { attention: attention.id }) };
}

// The walk and the ribbon: which station each step belongs to, and where the walk begins.

/** @type {Object<string, string>} */
const BY_KIND = {
  tokens: "tokens",
  embed: "embedding",
  start: "embedding",
  q: "qkv",
  k: "qkv",
  v: "qkv",
  heads: "qkv",
  av: "av",
  concat: "av",
  wo: "av",
  logits: "prediction",
  answer: "prediction",
};

/** Streams, sums and LayerNorms are the residual's; scores, mask, softmax and roles of a mechanism's own attention's; the others of an FFN, the FFN's. */
/** @type {Object<string, string>} */
const BY_GROUP = { attn: "attention", cross_attn: "attention", ffn: "ffn" };
const OF_STREAM = ["before", "norm", "residual", "rest", "final"];

/** @param {{kind: string, group: string}} step @returns {string} the id of a view */
export const stationOf = ({ kind, group }) =>
  BY_KIND[kind] ?? (OF_STREAM.includes(kind) ? "residual" : (BY_GROUP[group] ?? "residual"));

/** The steps of the walk that the steps of the attention station are. */
const OF_ATTENTION = { qk: "scores", scaled: "scale", masked: "mask" };

/**
 * The change that plays the walk from where the reader is: from the first step of the open station; of attention, from its open step,
 * or from the scores where that is the last one.
 * @param {State} state @param {Model} model @returns {Patch}
 */
export function walkFrom(state, model) {
  const attention = attentionOf(model, state.attention);
  const asked = OF_ATTENTION[/** @type {keyof typeof OF_ATTENTION} */ (openAttentionStep(attention, state))];
  const inStation = walkSteps(model, state).filter(
    (step) => stationOf(step) === state.view && (step.attention === null || step.attention === attention),
  );
  const first = inStation.find(({ kind }) => state.view === "attention" && kind === asked) ?? inStation[0];
  return { view: "computation", ...(first && firstSteps(first, { plays: true })) };
}
