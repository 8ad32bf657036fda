/**
 * An overview that grows by the row that came with a generated token, so that playing needs no second request.
 * True under the causal mask only: there an old row cannot see the new column, and stays what it was.
 */

import { textOf } from "../lib/labels.js";

const CAUSAL = 1;
const PATTERN = /^layers\.(\d+)\.attn\.pattern$/;

/**
 * @param {import("./wire.js").Decoded} overview  patterns as round(255·a), and the causal mask's reasons
 * @param {{token: import("../lib/labels.js").Token, rows: {shape: number[], data: Uint8Array}, seconds: number}} step
 * @returns {import("./wire.js").Decoded}
 */
export function grow({ meta, tensors }, { token, rows, seconds }) {
  const [, nHead, nKey] = rows.shape;
  /** @type {Object<string, import("./wire.js").Tensor>} */
  const grown = {};
  for (const [name, tensor] of Object.entries(tensors)) {
    const layer = name.match(PATTERN)?.[1];
    const from = Number(layer) * nHead * nKey;
    const lastRow = (head) => rows.data.subarray(from + head * nKey, from + (head + 1) * nKey);
    grown[name] = layer === undefined ? growMask(tensor) : extend(tensor, 0, lastRow);
  }
  const tokens = [...meta.tokens, token];
  const text = textOf(tokens);
  const position_ids = [...meta.position_ids, meta.position_ids.length];
  return { meta: { ...meta, tokens, text, n_characters: [...text].length, seconds, position_ids }, tensors: grown };
}

/** The new token sees everything, and nothing before it sees the new token. */
function growMask(tensor) {
  const allowed = new Uint8Array(tensor.shape[2] + 1);
  return extend(tensor, CAUSAL, () => allowed);
}

/**
 * [head query key] → [head query+1 key+1]: `corner` goes into the new column of the old rows.
 * @param {import("./wire.js").Tensor} tensor @param {number} corner @param {(head: number) => Uint8Array} lastRow
 */
function extend(tensor, corner, lastRow) {
  const [nHead, nQuery, nKey] = tensor.shape;
  const size = nKey + 1;
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
