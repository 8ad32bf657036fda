/**
 * An overview that grows by the rows that came with a generated token, so that playing needs no second request. Correct
 * only under the causal mask: there, an old row cannot see the new column and does not change.
 *
 * A pooled overview grows too: a cell is the largest of n × n weights, or the least of reasons, so the new row is
 * pooled into the last row of cells, or begins a new one. n stays until the text is requested again.
 */

import { textOf } from "../model/labels.js";
import { partOf, REASONS } from "../model/taps.js";

/**
 * @import { Token } from "../model/labels.js"
 * @import { Part } from "../model/taps.js"
 * @import { Decoded, Tensor } from "./wire.js"
 */

/**
 * @typedef {{shape: number[], data: Uint8Array}} Rows  layer head key
 */

/**
 * @param {Decoded} overview  round(255·a) of every head, and the masks' reasons
 * @param {{token: Token, rows: Object<string, Rows>, seconds: number}} step  the rows by attention
 * @param {any} model
 * @returns {Decoded}
 */
export function grow({ meta, tensors }, { token, rows, seconds }, model) {
  const writing = model.description.writes;
  const { pool = 1 } = meta;
  const before = (writing === "target" ? meta.target_tokens : meta.tokens).length;
  /** @type {Object<string, Tensor>} */
  const grown = {};
  for (const [name, tensor] of Object.entries(tensors)) {
    const { attention, layer, role } = /** @type {Part} */ (partOf(model, name));
    const { queries, keys } = attention;
    if (queries !== writing)
      grown[name] = tensor; // the encoder has already read its sentence
    else if (pool > 1) {
      const isSelf = keys === writing;
      const own =
        role === "mask"
          ? (/** @type {number} */ head) => maskRow(tensor, head, isSelf)
          : (/** @type {number} */ head) => rowOf(rows[attention.id], layer, head);
      grown[name] = pooledWith(tensor, own, { pool, before, isSelf, isMask: role === "mask" });
    } else if (role === "mask")
      grown[name] = extend(tensor, keys === writing, REASONS.causal, (row) => maskRow(tensor, row, keys === writing));
    else grown[name] = extend(tensor, keys === writing, 0, (head) => rowOf(rows[attention.id], layer, head));
  }
  const told = writing === "target" ? longerTarget(meta, token) : longerSource(meta, token);
  return { meta: { ...meta, ...told, seconds }, tensors: grown };
}

/** @param {{tokens: Token[], position_ids: number[]}} meta @param {Token} token */
function longerSource({ tokens, position_ids }, token) {
  const all = [...tokens, token];
  const text = textOf(all);
  return {
    tokens: all,
    text,
    read_text: text,
    n_characters: [...text].length,
    position_ids: [...position_ids, position_ids.length],
  };
}

/** @param {{target_tokens: Token[], target_position_ids?: number[]}} meta @param {Token} token */
function longerTarget({ target_tokens, target_position_ids }, token) {
  const all = [...target_tokens, token];
  const places = target_position_ids && [...target_position_ids, target_position_ids.length];
  return {
    target_tokens: all,
    target_text: textOf(all.filter(({ special }) => !special)),
    target_position_ids: places,
    target_from: "request",
  };
}

/** @param {Rows} rows @param {number} layer @param {number} head */
function rowOf({ shape: [, nHead, nKey], data }, layer, head) {
  const from = (layer * nHead + head) * nKey;
  return data.subarray(from, from + nKey);
}

/**
 * The new token may attend to all of its own side, but for the window of the row above, which it moves on by one; in the source, to
 * what the row above may attend to. A window that is filled only now is not known from these rows.
 * @param {Tensor} mask @param {number} head @param {boolean} isSelf
 */
function maskRow({ shape: [, nQuery, nKey], data }, head, isSelf) {
  const from = (head * nQuery + nQuery - 1) * nKey;
  const above = /** @type {Uint8Array} */ (data).subarray(from, from + nKey);
  if (!isSelf) return above;
  const beyond = above.findLastIndex((reasons) => reasons & REASONS.window);
  return beyond < 0 ? new Uint8Array(nKey + 1) : new Uint8Array(nKey + 1).fill(REASONS.window, 0, beyond + 2);
}

/**
 * [head query key] → [head query+1 key(+1)]: `corner` fills the new column of the old rows.
 * @param {Tensor} tensor @param {boolean} wider  a key more, too
 * @param {number} corner @param {(head: number) => Uint8Array} lastRow
 */
function extend(tensor, wider, corner, lastRow) {
  const [nHead, nQuery, nKey] = tensor.shape;
  const size = nKey + (wider ? 1 : 0);
  const data = new Uint8Array(nHead * (nQuery + 1) * size).fill(corner);
  for (let head = 0; head < nHead; head++) {
    const start = head * (nQuery + 1) * size;
    for (let query = 0; query < nQuery; query++) {
      const from = (head * nQuery + query) * nKey;
      data.set(/** @type {Uint8Array} */ (tensor.data).subarray(from, from + nKey), start + query * size);
    }
    data.set(lastRow(head), start + nQuery * size);
  }
  return { ...tensor, shape: [nHead, nQuery + 1, size], data };
}

/**
 * [head block block] with one row more: `rowOfHead` has the new query's weights, or (of a mask) its reasons, by cell.
 * @param {Tensor} tensor @param {(head: number) => Uint8Array} rowOfHead
 * @param {{pool: number, before: number, isSelf: boolean, isMask: boolean}} of  `before`: the queries that there were
 */
function pooledWith(tensor, rowOfHead, { pool, before, isSelf, isMask }) {
  const [nHead, nQuery, nKey] = tensor.shape;
  const opens = before % pool === 0;
  const wide = nKey + (opens && isSelf ? 1 : 0);
  const high = nQuery + (opens ? 1 : 0);
  const data = new Uint8Array(nHead * high * wide).fill(isMask ? REASONS.causal : 0);
  for (let head = 0; head < nHead; head++) {
    for (let query = 0; query < nQuery; query++) {
      const from = (head * nQuery + query) * nKey;
      data.set(/** @type {Uint8Array} */ (tensor.data).subarray(from, from + nKey), (head * high + query) * wide);
    }
    const start = (head * high + high - 1) * wide;
    const own = rowOfHead(head);
    if (isMask && isSelf) data.fill(0, start, start + wide);
    else if (isMask) data.set(own, start);
    else
      own.forEach((weight, key) => {
        const at = start + Math.floor(key / pool);
        data[at] = Math.max(data[at], weight);
      });
  }
  return { ...tensor, shape: [nHead, high, wide], data };
}
