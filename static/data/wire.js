/** The server's bytes: a safetensors body → typed arrays. */

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

/** What each half stands for, once some are read. @type {Float32Array|null} */
let floats = null;

/** @param {Uint16Array} halves */
export function halvesAsFloats(halves) {
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
