/** The plain object that every view draws from. */

/**
 * @typedef {{shape: number[], data: Float32Array|Uint8Array}} Matrix
 * @typedef {{layer: number, head: number, causal: boolean, q: Matrix, k: Matrix, v: Matrix, scores: Matrix, mask: Matrix,
 *   pattern: Matrix}} Detail  one head, float32 (mask: uint8 reasons, 0 = allowed)
 * @typedef {Object} Change  the two runs that are compared
 * @property {import("../compare/heads.js").Run} before @property {import("../compare/heads.js").Run} after
 * @property {{detail: Detail, logits: import("./wire.js").Tensor}|null} alone  what a padded run should equal
 * @property {any} otherPrediction  at the chosen position in the run that is not shown; null in the row of a PAD
 * @typedef {Object} ModelTrace
 * @property {any} model  its line of /api/models
 * @property {string} text  what the tokens spell
 * @property {import("../lib/labels.js").Token[]} tokens
 * @property {number} nCharacters
 * @property {boolean} causal  the mask that this was traced under
 * @property {{start: number, end: number}} real  the sentence's own tokens: what lies outside is PAD
 * @property {number[]} positionIds
 * @property {number} nLayer
 * @property {number} nHead
 * @property {(layer: number, head: number) => {data: Uint8Array, n_query: number, n_key: number, scale: number}} pattern
 *   weights of one head for a picture: round(255·a)
 * @property {(layer: number, head: number) => Uint8Array} mask  its reasons, in the same order: 0 = allowed
 * @property {Detail|null} detail
 * @property {Detail|null} other  the same head in the run that this one is compared with: see compare/runs.js
 * @property {Change|null} change
 * @property {Object<number, any>} predictions  by position: row t predicts token t+1
 * @property {any[]|null} counts  tokens under public encodings; null: nobody asked, or a file cannot tell
 * @property {number} seconds  what the server needed
 * @property {string} key  names the request behind it
 * @property {string|null} file  the name of the saved trace that this is; null: the server's
 * @property {(need: string) => string|null} lacks  why a need can never be met, as a key of the catalogue; null: it can
 */

/**
 * @param {{key: string, model: any, overview: import("./wire.js").Decoded, detail?: Detail|null, other?: Detail|null,
 *   change?: Change|null, predictions?: Object<number, any>, counts?: any[]|null}} parts
 * @returns {ModelTrace}
 */
export function modelTrace({ key, model, overview, detail = null, other = null, change = null, predictions = {}, counts = null }) {
  const { meta, tensors } = overview;
  const count = meta.tokens.length;
  const slice = (tensor, head) => {
    // A mask that is the same for every head comes with one: the last head of the tensor stands for all.
    const at = Math.min(head, tensor.shape[0] - 1) * count * count;
    return tensor.data.subarray(at, at + count * count);
  };
  return {
    key,
    model,
    text: meta.text,
    tokens: meta.tokens,
    nCharacters: meta.n_characters,
    causal: meta.masks.causal,
    real: realOf(meta),
    positionIds: meta.position_ids,
    nLayer: model.n_layer,
    nHead: model.n_head,
    pattern: (layer, head) => ({
      data: slice(tensors[`layers.${layer}.attn.pattern`], head),
      n_query: count,
      n_key: count,
      scale: 255,
    }),
    mask: (layer, head) => slice(tensors[`layers.${layer}.attn.mask`] ?? tensors["layers.0.attn.mask"], head),
    detail,
    other,
    change,
    predictions,
    counts,
    seconds: meta.seconds,
    file: overview.file ?? null,
    lacks: overview.lacks ?? (() => null),
  };
}

/** Where the sentence's own tokens lie. @param {any} meta  of an answer @returns {{start: number, end: number}} */
export function realOf({ tokens, pad: { count, side } = { count: 0, side: "left" } }) {
  return side === "left" ? { start: count, end: tokens.length } : { start: 0, end: tokens.length - count };
}

const PARTS = ["q", "k", "v", "scores", "mask", "pattern"];

/** The names of the tensors behind a detail. @param {number} layer */
export function detailNames(layer) {
  return PARTS.map((part) => `layers.${layer}.attn.${part}`);
}

/** @param {import("./wire.js").Decoded} decoded @param {number} layer @param {number} head @returns {Detail} */
export function detailOf({ meta, tensors }, layer, head) {
  const detail = { layer, head, causal: meta.masks.causal };
  for (const part of PARTS) {
    const { shape, data } = tensors[`layers.${layer}.attn.${part}`];
    detail[part] = { shape: shape.slice(1), data: data.subarray(0, shape[1] * shape[2]) }; // the one head asked for
  }
  return /** @type {Detail} */ (detail);
}
