/**
 * A model's description of itself (model/describe): its stacks, its attentions, and which tensor has which role.
 * Names of tensors and parameters come only from here; no other code builds one. No DOM.
 *
 * @typedef {"source"|"target"} SideName  the sentence that is read, and what an encoder-decoder writes
 * @typedef {{tap: string, dims: string}} Tap
 * @typedef {string} Place  of a LayerNorm: "pre" (before the sublayer), "post" (after the sum), "res-post" (on the sublayer's output), or one for which the page has no words
 * @typedef {{kind: string, eps: number, place: Place, roles: {input: Tap, out: Tap}, parameters: {gain: string, bias?: string|null}}} Norm
 * @typedef {{reads: Tap, writes: Tap, leaves: Tap, norm: Norm|null, input: Tap}} Stream  the residual stream before and after (the
 *   same as `writes` without a residual connection), what the sublayer itself computed, and what its first matrices multiply
 * @typedef {Stream & {kind: "attention", attention: string, layer: number}} AttentionSublayer
 * @typedef {Stream & {kind: "ffn", roles: Object<string, Tap>, parameters: Object<string, string>, activation: string,
 *   gate: string|null, d_ff: number, beside?: Tap}} Ffn  `beside`: what another sublayer adds to the stream together with it, where both
 *   read the same stream (a parallel residual)
 * @typedef {AttentionSublayer|Ffn} Sublayer
 * @typedef {{roles: {embedding: Tap, positional?: Tap, token_types?: Tap}, scale: number|null, positions: string,
 *   parameters: {embedding: string|null, positions: string|null}, norm?: Norm}} Embedding  the embedding is multiplied by `scale`
 *   (null: an old file does not say); `norm`: of the sum with the position, where there is one
 * @typedef {{id: string, side: SideName, embedding: Embedding, layers: {sublayers: Sublayer[], scale?: number}[], final_norm: Norm|null,
 *   leaves: Tap}} Stack
 * @typedef {{op: string, of: string[], gives: string}} Identity
 * @typedef {Object} Attention
 * @property {string} id
 * @property {string} kind  its mechanism
 * @property {string} stack  the id of the stack it is in
 * @property {SideName} queries @property {SideName} keys
 * @property {boolean} causal  as trained
 * @property {number} n_layer @property {number} n_head @property {number} n_kv_head @property {number} d_head @property {number|null} scale
 * @property {string|null} overview  the role that is `head query key` in [0, 1]; null: it has none
 * @property {Object<string, {dims: string, taps: string[], rows?: "query"|"key"}>} roles  a tap for each layer; whose positions it
 *   has, the queries' where it is left out
 * @property {Object<string, string[]>} parameters  one for each layer
 * @property {Object<string, string[]>} parts  the roles that add up to a role
 * @property {string[]} hands_over  the roles and parameters that give what each key adds to each query; empty if keys cannot be separated
 * @property {Identity[]} identities  the equations between its roles
 * @property {number} [base]  of rotary positions; 10,000 where it is left out
 * @property {number[]} [bases]  the base in each layer, where layers differ
 * @property {number[]} [frequencies]  the angle of each pair per position, where the base does not say it
 * @property {number} [rotary_dims]  how many of a head's first dimensions are rotated; all where it is left out
 * @property {number} [norm_eps]  of the RMSNorm of each head's q and k, where there is one
 * @property {number} [softcap]  the bound c of the scores c · tanh(x / c)
 * @property {number} [bias_reach]  the distance from which its learned position bias is 0; left out where it never is
 * @typedef {Object} Description
 * @property {string} id @property {string} family
 * @property {"next"|"same"|"classes"|"none"} predicts
 * @property {SideName|null} writes  the side that generation extends
 * @property {SideName[]} sides @property {string[]} classes
 * @property {number} d_model @property {number} vocab_size @property {number} max_seq_len
 * @property {Object<string, boolean>} can
 * @property {Stack[]} stacks
 * @property {Tap & {stack: string, labels?: string[], parameters: {unembedding: string|null, b_unembedding: string|null}}} logits
 * @property {Attention[]} attentions  in the order of the forward pass
 * @typedef {{description: Description, name?: string, picture?: Picture|null, tie_embeddings?: boolean, units?: any}} Model  /api/models/{name},
 *   or what a saved trace says
 * @typedef {Model & {name: string, family: string, d_model: number, d_head: number, vocab_size: number, max_seq_len: number,
 *   n_parameters: number, languages: string[], classes: string[], picture: Picture|null, card: any, special: any, never_sampled: number[],
 *   weights: Object<string, number[]>, snapshot_of: string|null, norm_order?: string|null, dropout?: number|null}} ModelDetail
 */

/** @import { Picture } from "./patches.js" */

/** In the order of the forward pass; none while no model is known. @param {Model|null|undefined} model @returns {Attention[]} */
export const attentionsOf = (model) => model?.description?.attentions ?? NONE;
/** @type {Attention[]} */
const NONE = [];

/** The one called `id`; the model's last without it. @param {Model} model @param {string|null} [id] @returns {Attention} */
export function attentionOf(model, id = null) {
  const all = attentionsOf(model);
  return all.find((one) => one.id === id) ?? all[all.length - 1];
}

/** @param {Attention} attention @param {string} role  or "overview", whatever that role is called here */
export const has = (attention, role) =>
  role === "overview" ? attention.overview !== null : Object.hasOwn(attention.roles, role);

/** The tensor's name. @param {Attention} attention @param {number} layer @param {string} role */
export function tapOf({ id, roles }, layer, role) {
  const tap = roles[role]?.taps[layer];
  if (tap === undefined) throw new Error(`attention ${id} has no ${role} in layer ${layer}`);
  return tap;
}

/** The name of a parameter; null where this mechanism has none. @param {Attention} attention @param {number} layer @param {string} role */
export const parameterOf = ({ parameters }, layer, role) => parameters[role]?.[layer] ?? null;

/** Which head of a role's tensor a query head uses: keys and values may be those of a group. @param {Attention} attention @param {string} role @param {number} head */
export const roleHead = ({ roles, n_head, n_kv_head }, role, head) =>
  roles[role]?.dims.startsWith("kv_head") ? Math.floor((head * n_kv_head) / n_head) : head;

/** What every head's picture is drawn from. @param {Attention} attention @returns {string|null} a role */
export const overviewOf = ({ overview }) => overview;

/**
 * The equation that gives a role: the one that is stated, or the sum of its parts; null without either.
 * @param {Attention} attention @param {string} role @returns {Identity|null}
 */
export function identityOf({ identities, parts }, role) {
  const stated = identities.find(({ gives }) => gives === role);
  const of = parts?.[role];
  return stated ?? (of ? { op: "sum", of, gives: role } : null);
}

/** Whether a role is this operation of exactly these roles. @param {Attention|null|undefined} attention @param {string} role @param {string} op @param {string[]} of */
const is = (attention, role, op, of) => {
  const found = attention && identityOf(attention, role);
  return found?.op === op && found.of.join() === of.join();
};

/** Whether its scores are only q·k/√d: nothing is added for the distance, and q and k are not rotated. @param {Attention|null|undefined} attention */
export const scoresDotProducts = (attention) =>
  is(attention, "scores", "scaled_product", ["q", "k"]) && scalesProducts(attention);

/** Whether its scores are products of one q and one k, whatever they are divided by: as they are, or rotated (RoPE). @param {Attention} attention */
export const scoresAreProducts = (attention) =>
  [
    ["q", "k"],
    ["q_rotated", "k_rotated"],
  ].some((of) => is(attention, "scores", "scaled_product", of));

/** Whether products are divided by √d_head. @param {Attention|null|undefined} attention */
export const scalesProducts = (attention) =>
  !attention?.scale || Math.abs(attention.scale ** 2 * attention.d_head - 1) < 1e-6;

/** Whether products are divided at all: by √d_head, or by another root (DeBERTa’s √(3 d_head)). @param {Attention|null|undefined} attention */
export const dividesProducts = (attention) => scalesProducts(attention) || attention?.scale !== 1;

/** Whether every feature has separate weights: query × key × feature. @param {Attention|null|undefined} attention */
export const weighsFeatures = (attention) => attention?.roles.weights?.dims === "head query key d_head";

/** Whether its pictures show the mean over a group of features, and no head. @param {Attention|null|undefined} attention */
export const showsMeans = (attention) =>
  Boolean(attention?.overview) &&
  identityOf(/** @type {any} */ (attention), attention?.overview ?? "")?.op === "feature_mean";

/** Whether it remembers in a state that only knows earlier tokens: later keys are forbidden under any mask. @param {Attention|null|undefined} attention */
export const isRecurrent = (attention) => Boolean(attention && "decay" in attention.parameters);

/** Whether its z are the values weighted by its pattern and nothing else. @param {Attention|null|undefined} attention */
export const sumsValues = (attention) => is(attention, "z", "weighted_sum", ["pattern", "v"]);

/** @param {Model} model @returns {Stack[]} */
export const stacksOf = ({ description }) => description.stacks;

/** The stack of an attention, or the one with this id. @param {Model} model @param {Attention|string} of @returns {Stack} */
export function stackOf({ description: { stacks } }, of) {
  const id = typeof of === "string" ? of : of.stack;
  return stacks.find((one) => one.id === id) ?? stacks[stacks.length - 1];
}

/** @param {Model} model @param {string} stack @param {number} layer @returns {Sublayer[]} in their order */
export const sublayersOf = (model, stack, layer) => stackOf(model, stack).layers[layer].sublayers;

/** @param {Model} model @param {string} stack @param {number} layer @returns {Ffn|null} */
export const ffnOf = (model, stack, layer) =>
  /** @type {Ffn|null} */ (sublayersOf(model, stack, layer).find(({ kind }) => kind === "ffn") ?? null);

/** The letters of a norm in formulas. @param {Norm|null|undefined} norm */
export const normLetters = (norm) => (isRms(norm) ? "RMS" : "LN");

/** Whether it is an RMSNorm (Zhang and Sennrich 2019): no mean is subtracted, no bias added. @param {Norm|null|undefined} norm */
export const isRms = (norm) => norm?.kind === "rms_norm";

/** The activations whose formulas the page has (activations.js). */
const ACTIVATIONS = ["relu", "relu_squared", "gelu", "gelu_tanh", "silu"];

/** Every name that the walk's step of an activation may have. */
export const ACTIVATION_STEPS = [...ACTIVATIONS, "activation"];

/** @param {Ffn} ffn */
export const activationStep = ({ activation }) => (ACTIVATIONS.includes(activation) ? activation : "activation");

/** Where the LayerNorms of a stack are; null without any. The first attention may have none. @param {Stack} stack @returns {Place|null} */
export const normPlace = ({ layers }) => layers[0].sublayers.find(({ norm }) => norm)?.norm?.place ?? null;

/** Whether a sublayer adds its output to the stream, instead of replacing it. @param {Stream} sublayer */
export const hasResidual = ({ writes, leaves }) => writes.tap !== leaves.tap;

/** Whether its blocks compute more than the description says: the stack's output is not what the last sublayer writes. @param {Stack} stack */
export const hidesBlocks = ({ layers, leaves, final_norm: last }) =>
  last === null && layers[layers.length - 1].sublayers.every((one) => one.leaves.tap !== leaves.tap);

/** The stack that the logits come from. @param {Model} model @returns {Stack} */
export const answeringStack = (model) => stackOf(model, model.description.logits.stack);

/** Whether a logit is a sum over what its heads and FFNs write: in our own modules, or where the weights are known. @param {Model} model */
export const splitsLogits = (model) => can(model, "contributions") || can(model, "direct");

/** Whether its heads read the tokens that it predicts, with queries and keys, in our own modules. @param {Model} model */
export const hasVocabulary = (model) =>
  can(model, "neighbours") &&
  answersTokens(model) &&
  attentionsOf(model).length === 1 &&
  ["q", "k", "v", "pattern"].every((role) => has(attentionsOf(model)[0], role));

/** Whether its heads can be measured on tokens that repeat: they read the tokens that it predicts. @param {Model} model */
export const readsRepeats = (model) =>
  answersTokens(model) &&
  !writesTarget(model) &&
  model.description.max_seq_len >= 4 &&
  attentionsOf(model).some((one) => one.queries === one.keys && has(one, "pattern"));

/** Whether the logits are made with the table that its tokens come from. @param {Model} model */
export const tiesEmbeddings = (model) => model.tie_embeddings === true && answersTokens(model);

/** The widest of a model's attentions. @param {Model} model @returns {{layers: number, heads: number}} */
export const sizesOf = (model) => ({
  layers: Math.max(...attentionsOf(model).map(({ n_layer }) => n_layer)),
  heads: Math.max(...attentionsOf(model).map(({ n_head }) => n_head)),
});

/** Whether it was trained under a causal mask. @param {Model} model */
export const trainedCausal = (model) => attentionsOf(model).some(({ causal }) => causal);

/** Whether row t of its logits is about token t+1. @param {Model|null|undefined} model */
export const predictsTokens = (model) => model?.description?.predicts === "next";

/** Whether row t of its logits is about token t itself. @param {Model|null|undefined} model */
export const fillsMask = (model) => model?.description?.predicts === "same";

/** Whether its rows answer with tokens. @param {Model|null|undefined} model */
export const answersTokens = (model) => predictsTokens(model) || fillsMask(model);

/** Whether it writes a target in addition to the sentence. @param {Model|null|undefined} model */
export const writesTarget = (model) => model?.description?.writes === "target";

/** Whether its parameters can be requested: a picture in a separate file has none. @param {any} model */
export const servesWeights = (model) => Object.keys(model?.weights ?? {}).length > 0;

/** Whether it is RWKV's FFN: W₁ multiplies a mix of each token with the one before, σ(receptance) the output of W₂. @param {Ffn} ffn */
export const mixesChannels = ({ roles }) => "receptance" in roles;

/** Whether it has PADs to offer: one without a mask would read them like any token. @param {any} model  of /api/models */
export const offersPads = (model) => model?.description?.can.pads !== false && model?.special?.pad !== null;

/** Whether positions can leave PADs out: some models of transformers always count them. @param {Model|null|undefined} model */
export const skipsPads = (model) => model?.description?.can.skip_pads !== false;

/** @param {Model|null|undefined} model @param {string} what */
export const can = (model, what) => model?.description?.can[what] ?? false;

/** Whether a second sentence can be read beside this one, in one batch. @param {Model} model */
export const readsBatch = (model) => model.description.predicts === "classes" && can(model, "batch");

/** Whether the queries of one side look at the keys of the other. @param {Attention|null|undefined} attention */
export const isCross = (attention) => attention != null && attention.queries !== attention.keys;

/** "attn", "cross_attn" or "ffn": the word of a sublayer in links and in the catalogue. @param {Model} model @param {Sublayer} sublayer */
export function wordOf(model, sublayer) {
  if (sublayer.kind === "ffn") return "ffn";
  return isCross(attentionOf(model, sublayer.attention)) ? "cross_attn" : "attn";
}
