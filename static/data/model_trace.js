/** The plain object that every view draws from. */

import { attentionOf, attentionsOf, predictsTokens, tapOf } from "../model/attentions.js";
import { sideOf, sidesOf } from "../model/sides.js";

/**
 * @typedef {import("../model/attentions.js").Attention} Attention
 * @typedef {{shape: number[], data: Float32Array|Uint8Array}} Matrix
 * @typedef {{attention: string, layer: number, head: number, causal: boolean, q: Matrix, k: Matrix, v: Matrix, scores: Matrix,
 *   mask: Matrix, pattern: Matrix}} Detail  one head, float32 (mask: uint8 reasons, 0 = allowed)
 * @typedef {import("../model/sides.js").Side} Side
 * @typedef {Object} Change  the two runs that are compared
 * @property {import("../model/compare/heads.js").Run} before @property {import("../model/compare/heads.js").Run} after
 * @property {{detail: Detail, logits: import("./wire.js").Tensor}|null} alone  what a padded run should equal
 * @property {any} otherPrediction  at the chosen position in the run that is not shown; null in the row of a PAD
 * @typedef {Object} ModelTrace
 * @property {any} model  its line of /api/models
 * @property {"decoder-only"|"encoder-only"|"encoder-decoder"} family
 * @property {Attention[]} attentions  of the model, in the order of the forward pass
 * @property {Attention} attention  the open one
 * @property {{source: Side, target: Side|null}} sides
 * @property {Side} queries  of the open attention: its rows
 * @property {Side} keys  of the open attention: its columns
 * @property {Side|null} written  the tokens that go on (row t predicts token t+1); null: there is no next token
 * @property {import("../model/labels.js").Token[]} tokens  those of the queries
 * @property {{start: number, end: number}} real  of the queries
 * @property {string} text  the source as it was typed
 * @property {string} readText  what its tokens spell, and count their places in: the text in the form that the model reads
 * @property {string|null} targetText  what the target spells
 * @property {"request"|"greedy"|null} targetFrom  the reader's own target, or the model's
 * @property {number} nCharacters  of the source
 * @property {boolean} causal  the causal mask of the stack that predicts, as this was traced
 * @property {{name: string, logit: number, probability: number}[]|null} classes  of an encoder-only model
 * @property {{code: string, language: string, trained: string[], models: string[]}[]} notes
 * @property {number} nLayer  of every attention
 * @property {number} nHead
 * @property {(layer: number, head: number, id?: string) => {data: Uint8Array, n_query: number, n_key: number, scale: number}}
 *   pattern  weights of one head for a picture: round(255·a); `id`: of another attention than the open one
 * @property {(layer: number, head: number, id?: string) => Uint8Array} mask  its reasons, in the same order: 0 = allowed
 * @property {Detail|null} detail
 * @property {Matrix|null} heads  the weights of all heads of the open layer, float32: [head, query, key]
 * @property {Detail|null} other  the same head in the run that this one is compared with: see compare/runs.js
 * @property {Change|null} change
 * @property {Object<number, any>} predictions  by position: row t predicts token t+1
 * @property {any[]|null} counts  tokens under public encodings; null: nobody asked, or a file cannot tell
 * @property {(name: string) => import("./wire.js").Tensor|undefined} tensor  any tap of this run that a view needed: all heads, float32
 * @property {(name: string) => import("./wire.js").Tensor|undefined} weight  any parameter of the model that a view needed
 * @property {(name: string) => {ids: number[], shape: number[], data: Float32Array}|undefined} rows  the candidates' rows of a parameter
 * @property {Object<string, any>} explained  the answers of /api/explain that a view needed, `{refused: error}` where there can be none
 * @property {number} seconds  what the server needed
 * @property {string} key  names the request behind it
 * @property {string|null} file  the name of the saved trace that this is; null: the server's
 * @property {(need: string) => string|null} lacks  why a need can never be met, as a key of the catalogue; null: it can
 */

/**
 * @param {{key: string, model: any, overview: import("./wire.js").Decoded, attention?: string|null, detail?: Detail|null,
 *   heads?: Matrix|null, other?: Detail|null, change?: Change|null, predictions?: Object<number, any>, counts?: any[]|null,
 *   tensors?: Map<string, any>, weights?: Map<string, any>, rows?: Object<string, any>, explained?: Object<string, any>}} parts
 * @returns {ModelTrace}
 */
export function modelTrace({
  key,
  model,
  overview,
  attention: id = null,
  detail = null,
  heads = null,
  other = null,
  change = null,
  predictions = {},
  counts = null,
  tensors = new Map(),
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
    family: model.family,
    attentions: attentionsOf(model),
    attention,
    sides,
    queries,
    keys,
    written: predictsTokens(model) ? (sides.target ?? sides.source) : null,
    tokens: queries.tokens,
    real: queries.real,
    text: meta.text,
    readText: meta.read_text ?? meta.text,
    targetText: meta.target_text ?? null,
    targetFrom: meta.target_from ?? null,
    nCharacters: meta.n_characters,
    causal: meta.masks.causal,
    classes: meta.classes ?? null,
    notes: meta.notes ?? [],
    nLayer: model.n_layer,
    nHead: model.n_head,
    ...picturesOf(overview, model, sides, attention.id),
    ...{ detail, heads, other, change, predictions, counts, explained },
    tensor: (name) => tensors.get(name),
    weight: (name) => weights.get(name),
    rows: (name) => rows[name],
    seconds: meta.seconds,
    file: overview.file ?? null,
    lacks: overview.lacks ?? (() => null),
  };
}

/** Weights and reasons of any head, out of the overview's tensors. */
function picturesOf({ tensors }, model, sides, open) {
  const slice = ({ data, shape: [heads, n_query, n_key] }, head) => {
    // A mask that is the same for every head comes with one: the last head of the tensor stands for all.
    const at = Math.min(head, heads - 1) * n_query * n_key;
    return data.subarray(at, at + n_query * n_key);
  };
  return {
    pattern(layer, head, id = open) {
      const attention = attentionOf(model, id);
      const tensor = tensors[tapOf(attention, layer, "pattern")];
      const [n_query, n_key] = tensor.shape.slice(1);
      return { data: slice(tensor, head), n_query, n_key, scale: 255 };
    },
    mask(layer, head, id = open) {
      const attention = attentionOf(model, id);
      return slice(tensors[tapOf(attention, layer, "mask")] ?? tensors[tapOf(attention, 0, "mask")], head);
    },
  };
}

const PARTS = ["q", "k", "v", "scores", "mask", "pattern"];

/** The names of the tensors behind a detail. @param {Attention} attention @param {number} layer */
export function detailNames(attention, layer) {
  return PARTS.map((part) => tapOf(attention, layer, part));
}

/**
 * @param {import("./wire.js").Decoded} decoded @param {Attention} attention @param {number} layer @param {number} head
 * @returns {Detail}
 */
export function detailOf({ meta, tensors }, attention, layer, head) {
  const detail = { attention: attention.id, layer, head, causal: meta.masks.causal };
  for (const part of PARTS) {
    const { shape, data } = tensors[tapOf(attention, layer, part)];
    detail[part] = { shape: shape.slice(1), data: data.subarray(0, shape[1] * shape[2]) }; // the one head asked for
  }
  return /** @type {Detail} */ (detail);
}
