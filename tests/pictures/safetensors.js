/** Writes safetensors, as the app does (docs of the format: eight bytes of header length, the header as JSON, the tensors). */

/** @typedef {{shape: number[], dims: string[], data: Float32Array|Uint8Array|Int32Array}} Tensor */

/**
 * @param {Record<string, Tensor>} tensors @param {any} meta @param {boolean} [small]  float16 for float32
 * @returns {ArrayBuffer}
 */
export function encode(tensors, meta, small = false) {
  const dims = Object.fromEntries(Object.entries(tensors).map(([name, one]) => [name, one.dims.join(" ")]));
  /** @type {Record<string, any>} */
  const header = { __metadata__: { chumoku: JSON.stringify({ ...meta, dims }) } };
  let at = 0;
  const parts = Object.entries(tensors).map(([name, { shape, data }]) => {
    const [dtype, bytes] = bytesOf(data, small);
    header[name] = { dtype, shape, data_offsets: [at, at + bytes.length] };
    at += bytes.length;
    return bytes;
  });
  const head = Buffer.from(JSON.stringify(header));
  const padded = Buffer.concat([head, Buffer.alloc((8 - (head.length % 8)) % 8, " ")]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  return new Uint8Array(Buffer.concat([length, padded, ...parts])).buffer;
}

/** @param {Tensor["data"]} data @param {boolean} small @returns {[string, Uint8Array]} */
function bytesOf(data, small) {
  if (data instanceof Uint8Array) return ["U8", data];
  if (data instanceof Int32Array) return ["I32", new Uint8Array(data.buffer, data.byteOffset, data.byteLength)];
  const floats = small ? Float16Array.from(data) : data.slice();
  return [small ? "F16" : "F32", new Uint8Array(floats.buffer)];
}

/** With five significant digits: so an answer is short, and the same on every machine. @param {any} value @returns {any} */
export function rounded(value) {
  if (typeof value === "number") return Number.isInteger(value) ? value : Number(value.toPrecision(5));
  if (Array.isArray(value)) return value.map(rounded);
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, rounded(one)]));
  return value;
}
