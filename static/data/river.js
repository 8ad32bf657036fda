/** The numbers of /api/explain/route as typed arrays. No DOM. */

import { memo } from "../model/memo.js";
import { halvesAsFloats } from "./wire.js";

/** @import { SideName } from "../model/description.js" */

/**
 * @typedef {Object} Flow  one attention of a stack
 * @property {string} attention  its id
 * @property {SideName} queries @property {SideName} keys
 * @property {number} nQuery @property {number} nKey
 * @property {Float32Array} share  [layer query key]: what query q takes from key k; with `own`, adds up to 1 over the keys. Read its rows
 *   with `rowOfShares`
 * @property {boolean} packed  of each query, only the keys up to itself are there: the others have nothing
 * @property {Float32Array} own  [layer query]: the part of share(q←q) that is the stream itself, which attention does not move
 * @typedef {Object} River  one stack
 * @property {string} stack @property {SideName} side
 * @property {number} layers @property {number} tokens
 * @property {Flow[]} flows  in the order of the sublayers
 * @property {Float32Array|null} ffn  [layer position]: ‖what the FFN adds‖ / ‖the stream before it‖
 */

/** The rivers of an answer, one for each stack: the same objects for the same answer. @type {(answer: any) => River[]} */
export const riversOf = memo(({ rivers }) => rivers.map(riverOf));

/** @param {any} river @returns {River} */
function riverOf({ stack, side, layers, tokens, flows, ffn }) {
  /** @param {any} flow @returns {Flow} */
  const flowOf = ({ attention, queries, keys, share, own, packed = false }) => {
    const shares = numbersOf(share);
    const nKey = packed ? tokens : shares.length / (layers * tokens);
    return { attention, queries, keys, nQuery: tokens, nKey, share: shares, own: numbersOf(own), packed };
  };
  return { stack, side, layers, tokens, flows: flows.map(flowOf), ffn: ffn ? numbersOf(ffn) : null };
}

/** float32, or float16 where they are many, in base64, little-endian. @param {{data: string, dtype?: string}} array */
function numbersOf({ data, dtype }) {
  const text = atob(data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i); // a hundred thousand: `from` takes 40 ms
  return dtype === "float16" ? halvesAsFloats(new Uint16Array(bytes.buffer)) : new Float32Array(bytes.buffer);
}
