/** One head in float32: which tensors it needs, and its matrices in an answer. No DOM. */

import { overviewOf, tapOf } from "../model/description.js";

/** @typedef {import("../model/description.js").Attention} Attention  @typedef {import("./model_trace.js").Detail} Detail */

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
 * @param {import("./wire.js").Decoded} decoded @param {Attention} attention @param {number} layer @param {number} head
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
