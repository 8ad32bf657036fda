/** The steps of the walk: what a stack and one of its blocks do, in the order of the forward pass. No DOM. */

import { endsOf, prefixOf, sublayersOf } from "../../model/anatomy.js";
import { attentionOf, attentionsOf } from "../../model/attentions.js";

/**
 * @typedef {Object} Step
 * @property {string} id  `${group}.${kind}`, as the address has it
 * @property {"in"|"attn"|"cross_attn"|"ffn"|"out"} group
 * @property {string} kind  what is done: a name of kinds.js
 * @property {string} prefix  of the stack
 * @property {number} layer  the open block
 * @property {import("../../model/anatomy.js").Sublayer|null} sublayer  that it belongs to
 * @property {import("../../model/attentions.js").Attention|null} attention  of that sublayer
 */

const ATTENTION = ["q", "k", "v", "heads", "scores", "scale", "mask", "softmax", "av", "concat", "wo"];
const FFN = ["w1", "relu", "w2"];

/** Where a sublayer's LayerNorm stands: before it, behind the sum, or before the sum (model/block.py). */
const ORDERS = {
  pre: (own) => ["norm", ...own, "residual"],
  post: (own) => [...own, "residual", "norm"],
  "res-post": (own) => [...own, "norm", "residual"],
};

/**
 * @param {any} model  a line of /api/models
 * @param {Pick<import("../../state/store.js").State, "attention"|"layer">} state
 * @returns {Step[]}
 */
export function stepsOf(model, { attention: id, layer }) {
  const open = attentionOf(model, id);
  const prefix = prefixOf(open);
  const step = (group, kind, sublayer = null, attention = null) => ({
    id: `${group}.${kind}`,
    group,
    kind,
    prefix,
    layer,
    sublayer,
    attention,
  });
  const block = sublayersOf(model, prefix, layer).flatMap((sublayer) => {
    const kinds = (ORDERS[model.norm_order] ?? ORDERS.pre)(sublayer.kind === "ffn" ? FFN : ATTENTION);
    return kinds.map((kind) => step(sublayer.kind, kind, sublayer, attentionIn(model, prefix, sublayer.kind)));
  });
  const before = layer > 0 ? ["tokens", "embed", "before"] : ["tokens", "embed"];
  return [
    ...before.map((kind) => step("in", kind)),
    ...block,
    ...endOf(model, prefix, layer).map((kind) => step("out", kind)),
  ];
}

/** What follows the open block: the others, the last LayerNorm, and what comes out, if this stack is the one that answers. */
function endOf(model, prefix, layer) {
  const answers = prefixOf(attentionOf(model)) === prefix;
  return [
    layer < model.n_layer - 1 && "rest",
    endsOf(model, prefix).finalNorm && "final",
    ...(answers ? ["logits", "answer"] : []),
  ].filter(Boolean);
}

function attentionIn(model, prefix, kind) {
  return attentionsOf(model).find((one) => prefixOf(one) === prefix && one.path.endsWith(`.${kind}`)) ?? null;
}

/**
 * The open step. A head that is opened is that of the open attention: what was being looked at in another one of its
 * stack is then looked at in this one.
 * @param {Step[]} steps @param {any} model @param {Pick<import("../../state/store.js").State, "attention"|"step">} state
 * @returns {Step}
 */
export function openStep(steps, model, { step, attention }) {
  const kind = step?.split(".")[1];
  const group = step?.split(".")[0];
  const inAttention = group === "attn" || group === "cross_attn";
  const open = attentionOf(model, attention);
  const there = steps.find(
    (one) => one.kind === kind && (inAttention ? one.attention?.id === open.id : one.group === group),
  );
  return there ?? steps[0];
}

/** What the state needs to say so that `step` is open. @param {Step} step */
export function opening({ id, attention }) {
  return attention ? { step: id, attention: attention.id } : { step: id };
}
