/** The server's bytes: a safetensors body → typed arrays. */

import { memo } from "../model/memo.js";

/** @import { SideName } from "../model/description.js" */

/**
 * @typedef {{shape: number[], dims: string[], data: Float32Array|Uint8Array|Int32Array}} Tensor
 * @typedef {{meta: any, tensors: Object<string, Tensor>}} Decoded
 */

/**
 * Eight bytes of header length, the header as JSON, then every tensor's bytes. float16 becomes Float32Array, int64 Int32Array (indices
 * and counts: the page computes with no BigInt); uint8 is unchanged (`meta.scale[name]` is the factor of a pattern).
 * @param {ArrayBuffer} buffer
 * @returns {Decoded}
 */
export function decode(buffer) {
  const start = 8 + Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, start - 8)));
  const meta = JSON.parse(header.__metadata__?.chumoku ?? "{}");
  /** @type {Object<string, Tensor>} */
  const tensors = {};
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const dims = meta.dims?.[name]?.split(" ") ?? [];
    tensors[name] = { shape: entry.shape, dims, data: read(buffer, start, entry) };
  }
  return { meta, tensors };
}

/** @type {Record<string, any>} constructors of typed arrays */
const ARRAYS = {
  F32: Float32Array,
  U8: Uint8Array,
  I8: Int8Array,
  BOOL: Uint8Array,
  I32: Int32Array,
  I64: BigInt64Array,
};

/** @param {ArrayBuffer} buffer @param {number} start @param {{dtype: string, data_offsets: [number, number]}} entry */
function read(buffer, start, { dtype, data_offsets: [from, to] }) {
  const Type = dtype === "F16" ? Uint16Array : ARRAYS[dtype];
  if (!Type) throw new Error(`a tensor of type ${dtype} came, which the page cannot read`);
  const offset = start + from;
  const length = (to - from) / Type.BYTES_PER_ELEMENT;
  // A typed array must start at a multiple of its element's size; copy where the file's layout does not give that.
  const aligned = offset % Type.BYTES_PER_ELEMENT === 0;
  const data = aligned ? new Type(buffer, offset, length) : new Type(buffer.slice(offset, start + to));
  if (dtype === "I64") return Int32Array.from(/** @type {BigInt64Array} */ (data), Number);
  return dtype === "F16" ? halvesAsFloats(/** @type {Uint16Array} */ (data)) : data;
}

/** The float32 value of each float16, computed when the first is read. @type {Float32Array|null} */
let floats = null;

/** @param {Uint16Array} halves */
function halvesAsFloats(halves) {
  const known = floats ?? Float32Array.from({ length: 2 ** 16 }, (_, bits) => halfToFloat(bits));
  floats = known;
  return Float32Array.from(halves, (bits) => known[bits]);
}

/** One IEEE 754 half. @param {number} bits */
function halfToFloat(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * 2 ** -24 * fraction;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
}

// The numbers of /api/explain/route as typed arrays.

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
