/** The object that every view draws from. */

import { attentionOf, attentionsOf, has, overviewOf, predictsTokens, tapOf } from "../model/description.js";
import { rowIn } from "../model/matrix.js";
import { sideOf, sidesOf } from "../model/sides.js";

/**
 * @import { Comparison } from "../model/compare/compare.js"
 * @import { Run } from "../model/compare/measure.js"
 * @import { Attention } from "../model/description.js"
 * @import { Token, VocabularyToken } from "../model/labels.js"
 * @import { Side } from "../model/sides.js"
 * @import { Intervention } from "../state/run.js"
 * @import { SavedEffects } from "./document_source.js"
 * @import { AnswerAsTrained, RunWithoutKnockouts } from "./needs.js"
 * @import { Ablations } from "./streams.js"
 * @import { Decoded, Tensor } from "./wire.js"
 */

/**
 * @typedef {{shape: number[], data: Float32Array|Uint8Array}} Matrix
 * @typedef {Decoded & {model?: any, file?: string|null, lacks?: (need: string) => string|null,
 *   measured?: SavedEffects|null}} Overview  of a saved trace with its model, its name, what it lacks, and
 *   what was measured
 * @typedef {{shape: number[], data: Float32Array}} Floats
 * @typedef {{attention: string, layer: number, head: number, causal: boolean, q: Floats, k: Floats, v: Floats, scores: Floats,
 *   mask: {shape: number[], data: Uint8Array}, pattern: Floats, overview: Floats}} Detail  one head in float32: of these roles, and of all others that are
 *   `head query key`, those that its attention has (`overview`: what its picture is drawn from; mask: uint8 reasons, 0 = allowed)
 * @typedef {{position: number, candidates: (VocabularyToken & {before: number, after: number, kept: boolean, cut: string|null})[], n_kept: number,
 *   actual?: number|null, masses_cut: Record<string, number>, entropy_bits: number, settings: {temperature: number, top_k: number, top_p: number}}} Prediction  of the next token:
 *   the most likely first, before and after the sampling settings
 * @typedef {{query: number, tensors: Record<string, Tensor>}} HeadRows  [head, 1, key] by tap: of the attentions with this query
 * @typedef {Object} Compared  the two runs that are compared
 * @property {Run} before @property {Run} after
 * @property {Comparison["sides"]} sides  which tokens correspond, from before to after
 * @property {{detail: Detail, logits: Tensor}|null} alone  what a padded run should equal
 * @property {any} prediction  at the chosen position in the run that is not shown; null in the row of a PAD
 * @typedef {Object} ModelTrace
 * @property {any} model  /api/models/{name}, or what the file says
 * @property {Attention[]} attentions  of the model, in the order of the forward pass
 * @property {Attention} attention  the open one
 * @property {{source: Side, target: Side|null}} sides
 * @property {Side} queries  of the open attention: its rows
 * @property {Side} keys  of the open attention: its columns
 * @property {Side|null} written  the tokens that are continued (row t predicts token t+1); null: there is no next token
 * @property {Token[]} tokens  those of the queries
 * @property {{start: number, end: number}} real  of the queries
 * @property {string} text  the source as it was typed
 * @property {string|null} pair  a second text that was read with it
 * @property {string} readText  what its tokens spell, and count their places in: the text in the form that the model reads
 * @property {string|null} targetText  what the target spells
 * @property {"request"|"greedy"|null} targetFrom  the reader's own target, or the model's
 * @property {number} nCharacters  of the source
 * @property {boolean} causal  the causal mask of the stack that predicts, as this was traced
 * @property {{name: string, logit: number, probability: number}[]|null} classes  of an encoder-only model
 * @property {{code: string, language: string, trained: string[], models: string[], writers?: string[], n_tokens?: number, n_read?: number, names?: string[], read?: boolean, second?: number, source?: string|null, target?: string|null}[]} notes
 *   `writers`: not in older files; the last two, and none of the others: of "windowed"; `n_tokens` alone: of "lacking"; `names`, `read`: of "special"; `second`: of "token_types"; `source`, `target`: of "language_codes"
 * @property {Intervention[]} [interventions]  of its run
 * @property {number} nLayer  of the open attention
 * @property {number} nHead
 * @property {(layer: number, head: number, id?: string) => {data: Uint8Array, n_query: number, n_key: number, scale: number}|null}
 *   picture  one head for a picture: round(255·a) of its overview; `id`: of another attention than the open one; null: it has none.
 *   Where the trace is pooled, n_query and n_key count its cells, each the largest of pool × pool weights
 * @property {(layer: number, head: number, id?: string) => Uint8Array} mask  its reasons, in the same order: 0 = allowed
 * @property {number} pool  1: pictures have a cell for every weight
 * @property {(layer: number, head: number, query: number, id?: string) => ArrayLike<number>|null} row  one query's weights in a
 *   head: of the picture, to 1/255; of a pooled one, the model's float32, and null where that is not here
 * @property {(layer: number, head: number, query: number, id?: string) => ArrayLike<number>|null} exact  the same in float32; null: it is not here
 * @property {(role: string, layer: number) => Tensor|undefined} role  what the open attention has under
 *   that name, where a view needed it ("role:z"): all heads, float32
 * @property {Detail|null} detail
 * @property {Detail|null} detailBefore  the same head with the masks as in training; null: nothing is changed, or it is not here
 * @property {HeadRows|null} headRows  one row of all heads, where pictures are pooled
 * @property {Floats|null} heads  the weights of all heads of the open layer, float32: [head, query, key]
 * @property {Detail|null} comparedDetail  the same head in the run that this one is compared with: see compare/runs.js
 * @property {Compared|null} compared
 * @property {Decoded[]|null} comparedNodes  the two texts of the tree that are compared: the logits of the next token, and each head's last row
 * @property {Object<number, Prediction>} predictions  by position: row t predicts token t+1
 * @property {any[]|null} counts  tokens under public encodings; null: not requested, or not in the file
 * @property {(name: string) => Tensor|undefined} tensor  any tap of this run that a view needed: all heads, float32
 * @property {(name: string) => Tensor|undefined} tensorBefore  the same of the run that this one is compared with
 * @property {(name: string) => Tensor|undefined} weight  any parameter of the model that a view needed
 * @property {(name: string) => {ids: number[], shape: number[], data: Float32Array}|undefined} rows  the candidates' rows of a parameter
 * @property {RunWithoutKnockouts|null} withoutKnockouts  the same run without its knockouts; null: it has none, or it was not requested
 * @property {Ablations|null} ablations  what each head does for the answer; null: not requested, or refused
 * @property {ModelTrace["picture"]|null} pictureBefore  the pictures of that run, where its difference is shown
 * @property {any} routeBefore  the shares of the run that this one is compared with; null: not requested, or refused
 * @property {AnswerAsTrained|null} asTrained  what the model answers with its masks as in training; null: they are, or it was not requested
 * @property {Object<string, any>} explained  the answers of /api/explain that a view needed, `{refused: error}` if there is none
 * @property {number} seconds  what the server needed
 * @property {string} key  identifies its request
 * @property {string|null} file  the name of the saved trace that this is; null: the server's
 * @property {SavedEffects|null} measured  the effects of knockouts, measured when a picture was saved
 * @property {(need: string) => string|null} lacks  why a need can never be met, as a key of the catalogue; null: it can
 * @typedef {Omit<ModelTrace, "tensor"|"role"|"weight"|"rows"> & {tensor: (name: string) => FloatTensor, role: (role: string, layer: number) =>
 *   FloatTensor, weight: (name: string) => FloatTensor, rows: (name: string) => Floats & {ids: number[]}}} FetchedTrace  as a view is
 *   given it: the tensors that its `needs` name are there
 * @typedef {Floats & {dims: string[]}} FloatTensor
 * @typedef {FetchedTrace & {detail: Detail}} HeadTrace  of a view that needs "detail"
 */

/**
 * @param {{key: string, model: any, overview: Overview, attention?: string|null, detail?: Detail|null, detailBefore?: Detail|null,
 *   headRows?: HeadRows|null, heads?: Floats|null, comparedDetail?: Detail|null, compared?: Compared|null, comparedNodes?: Decoded[]|null, withoutKnockouts?: RunWithoutKnockouts|null, asTrained?: AnswerAsTrained|null, routeBefore?: any, overviewBefore?: Overview|null, ablations?: Ablations|null, predictions?: Object<number, any>, counts?: any[]|null,
 *   tensors?: Map<string, any>, tensorsBefore?: Map<string, any>, weights?: Map<string, any>, rows?: Object<string, any>, explained?: Object<string, any>}} parts
 * @returns {ModelTrace}
 */
export function modelTrace({
  key,
  model,
  overview,
  attention: id = null,
  detail = null,
  headRows = null,
  heads = null,
  comparedDetail = null,
  detailBefore = null,
  compared = null,
  comparedNodes = null,
  withoutKnockouts = null,
  asTrained = null,
  routeBefore = null,
  overviewBefore = null,
  ablations = null,
  predictions = {},
  counts = null,
  tensors = new Map(),
  tensorsBefore = new Map(),
  weights = new Map(),
  rows = {},
  explained = {},
}) {
  const { meta } = overview;
  const attention = attentionOf(model, id);
  const sides = sidesOf(meta);
  const [queries, keys] = [sideOf(sides, attention.queries), sideOf(sides, attention.keys)];
  return {
    key,
    model,
    attentions: attentionsOf(model),
    attention,
    sides,
    queries,
    keys,
    written: predictsTokens(model) ? (sides.target ?? sides.source) : null,
    tokens: queries.tokens,
    real: queries.real,
    text: meta.text,
    pair: meta.run?.input?.pair ?? null,
    readText: meta.read_text ?? meta.text,
    targetText: meta.target_text ?? null,
    targetFrom: meta.target_from ?? null,
    nCharacters: meta.n_characters,
    causal: meta.masks.causal,
    classes: meta.classes ?? null,
    notes: meta.notes ?? [],
    interventions: meta.interventions ?? [],
    nLayer: attention.n_layer,
    nHead: attention.n_head,
    ...picturesOf({ overview, detail, headRows }, model, attention.id),
    pool: meta.pool ?? 1,
    detail,
    detailBefore,
    headRows,
    heads,
    comparedDetail,
    compared,
    comparedNodes,
    withoutKnockouts,
    routeBefore,
    pictureBefore: overviewBefore && picturesOf({ overview: overviewBefore, ...NOTHING }, model, attention.id).picture,
    asTrained,
    ablations,
    predictions,
    counts,
    explained,
    tensor: (name) => tensors.get(name),
    tensorBefore: (name) => tensorsBefore.get(name),
    role: (role, layer) => tensors.get(tapOf(attention, layer, role)),
    weight: (name) => weights.get(name),
    rows: (name) => rows[name],
    seconds: meta.seconds,
    file: overview.file ?? null,
    lacks: overview.lacks ?? (() => null),
    measured: overview.measured ?? null,
  };
}

/** No numbers but the pictures'. */
const NOTHING = { detail: null, headRows: null };

/**
 * Weights and reasons of any head, from the overview's tensors.
 * @param {{overview: Overview, detail: Detail|null, headRows: HeadRows|null}} parts @param {any} model @param {string} open  the id of the open attention
 * @returns {Pick<ModelTrace, "picture"|"mask"|"row"|"exact">}
 */
function picturesOf({ overview: { tensors, meta }, detail, headRows }, model, open) {
  /** @param {Tensor} tensor @param {number} head @returns {Uint8Array} */
  const slice = ({ data, shape: [heads, n_query, n_key] }, head) => {
    // A mask that all heads share has one head: the tensor's last head is used for all.
    const at = Math.min(head, heads - 1) * n_query * n_key;
    return /** @type {Uint8Array} */ (data).subarray(at, at + n_query * n_key);
  };
  /** @type {ModelTrace["picture"]} */
  const picture = (layer, head, id = open) => {
    const attention = attentionOf(model, id);
    const role = overviewOf(attention);
    if (role === null) return null;
    const tensor = tensors[tapOf(attention, layer, role)];
    const [n_query, n_key] = tensor.shape.slice(1);
    return { data: slice(tensor, head), n_query, n_key, scale: 255 };
  };
  /** @type {ModelTrace["mask"]} */
  const mask = (layer, head, id = open) => {
    const attention = attentionOf(model, id);
    if (!has(attention, "mask")) return new Uint8Array(picture(layer, head, id)?.data.length ?? 0); // without a mask, nothing is forbidden
    // Masks differ between layers only if one is edited; then each layer has its own.
    return slice(tensors[tapOf(attention, layer, "mask")] ?? tensors[tapOf(attention, 0, "mask")], head);
  };
  /** @type {ModelTrace["row"]} */
  const row = (layer, head, query, id = open) => {
    if ((meta.pool ?? 1) > 1) return exactRow({ detail, headRows }, model, { layer, head, query, id });
    const found = picture(layer, head, id);
    if (!found) return null;
    return Array.from(found.data.subarray(query * found.n_key, (query + 1) * found.n_key), (one) => one / found.scale);
  };
  /** @type {ModelTrace["exact"]} */
  const exact = (layer, head, query, id = open) => exactRow({ detail, headRows }, model, { layer, head, query, id });
  return { picture, mask, row, exact };
}

/**
 * A row of a head as the model has it, of what is here.
 * @param {{detail: Detail|null, headRows: HeadRows|null}} parts @param {any} model
 * @param {{layer: number, head: number, query: number, id: string}} at
 */
function exactRow({ detail, headRows }, model, { layer, head, query, id }) {
  if (detail?.overview && detail.attention === id && detail.layer === layer && detail.head === head)
    return rowIn(detail.overview, query);
  const attention = attentionOf(model, id);
  const tensor =
    headRows?.query === query ? headRows.tensors[tapOf(attention, layer, overviewOf(attention) ?? "")] : undefined;
  return tensor
    ? rowIn({ data: /** @type {Float32Array} */ (tensor.data), shape: [tensor.shape[0], tensor.shape[2]] }, head)
    : null;
}
