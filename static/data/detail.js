/** One head in float32: its request, alone or beside the overview's, and its matrices in an answer. No DOM. */

import { attentionOf, overviewOf, tapOf } from "../model/description.js";
import { listed, requestOf, rowsAhead } from "./request.js";

/**
 * @import { Attention } from "../model/description.js"
 * @import { State } from "../state/store.js"
 * @import { Detail } from "./model_trace.js"
 * @import { Decoded } from "./wire.js"
 */

/** In an answer, before the names of a detail's tensors. */
const DETAIL = "detail/";

/** Up to this many characters, ids or patches, the open head comes with the pictures: for a longer text they would come later. */
const SHORT = 400;

/** The roles of a detail. @param {Attention} attention */
const detailRoles = ({ roles }) =>
  Object.keys(roles).filter((role) => PROJECTED.has(role) || roles[role].dims === "head query key");
const PROJECTED = new Set(["q", "k", "v"]);

/** The names of the tensors of a detail. @param {Attention} attention @param {number} layer */
export const detailNames = (attention, layer) => detailRoles(attention).map((role) => tapOf(attention, layer, role));

/** @param {Attention} attention @param {string} role */
const roleDims = ({ roles }, role) => roles[role].dims.split(" ")[0];

/**
 * The index of a query head's matrix among the `count` of a tensor. Matrices may be shared: a mask by all heads, keys
 * and values by a group.
 * @param {number} head @param {number} count @param {Attention} attention @param {string} dim  "head" or "kv_head"
 * @param {number[]|null} asked  the query heads of the answer; null: all
 */
function placeOf(head, count, { n_head, n_kv_head }, dim, asked) {
  if (asked === null || count === 1) return Math.floor((head * count) / n_head);
  if (dim !== "kv_head") return asked.indexOf(head);
  /** @param {number} one */
  const shared = (one) => Math.floor((one * n_kv_head) / n_head);
  return [...new Set(asked.map(shared))].indexOf(shared(head));
}

/**
 * One head, from an answer that has only this head or all of them.
 * @param {Decoded} decoded @param {Attention} attention @param {number} layer @param {number} head
 * @returns {Detail}
 */
export function detailOf({ meta, tensors }, attention, layer, head) {
  /** @type {any} */
  const detail = { attention: attention.id, layer, head, causal: meta.masks.causal };
  for (const role of detailRoles(attention)) {
    const [count, rows, cols = 1] = tensors[tapOf(attention, layer, role)].shape; // a key of one number has no dimension for it
    const at = placeOf(head, count, attention, roleDims(attention, role), meta.heads ?? null) * rows * cols;
    detail[role] = {
      shape: [rows, cols],
      data: tensors[tapOf(attention, layer, role)].data.subarray(at, at + rows * cols),
    };
  }
  const overview = overviewOf(attention);
  if (overview) detail.overview = detail[overview];
  if (overview && !detail.mask)
    detail.mask = { shape: detail.overview.shape, data: new Uint8Array(detail.overview.data.length) };
  return detail;
}

/**
 * What the request of the overview asks for beside it.
 * @param {State} state @param {any} model @param {boolean} opened  whether the open head is needed
 */
export function partsFor(state, model, opened) {
  const rows = rowsAhead(state, model);
  const next = rows === undefined ? {} : { predict: listed(state, rows) };
  if (!opened || !isShort(state, model)) return next;
  const { want, heads } = detailRequest(state, model);
  return want.length ? { ...next, detail: { want, heads } } : next;
}

/** @param {State} state @param {any} model */
const isShort = ({ text, ids, pixels, padCount }, { max_seq_len: longest }) =>
  (pixels ? longest : (ids ?? text).length) + padCount <= SHORT;

/** The request for the open head alone, in float32. @param {State} state @param {any} model */
export function detailRequest(state, model) {
  const attention = attentionOf(model, state.attention);
  const want = detailNames(attention, state.layer);
  return { ...requestOf(state), want, heads: [state.head], dtype: "float32" };
}

/** The open head, from an answer to that request. @param {State} state @param {any} model @param {Decoded} answer @returns {Detail} */
export const openOf = ({ attention, layer, head }, model, answer) =>
  detailOf(answer, attentionOf(model, attention), layer, head);

/**
 * An answer in its parts. The open head gets its own memory: it is kept longer than the pictures.
 * @param {Decoded} answer @returns {{overview: Decoded, detail: Decoded|null, predictions: any[]}}
 */
export function partsOf(answer) {
  const { meta, tensors } = answer;
  const predictions = meta.predictions ?? [];
  if (!meta.detail) return { overview: answer, detail: null, predictions };
  const all = Object.entries(tensors);
  const own = all
    .filter(([name]) => name.startsWith(DETAIL))
    .map(([name, one]) => [name.slice(DETAIL.length), { ...one, data: one.data.slice() }]);
  return {
    overview: { ...answer, tensors: Object.fromEntries(all.filter(([name]) => !name.startsWith(DETAIL))) },
    detail: { meta: { ...meta, heads: meta.detail.heads }, tensors: Object.fromEntries(own) },
    predictions,
  };
}
