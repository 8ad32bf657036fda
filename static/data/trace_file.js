/** A saved trace, read and checked: what is wrong with a file is said before anything of it is shown. */

import { decode } from "./wire.js";

/** Bytes. */
export const LARGEST = 100e6;
const VERSION = 1;
const SIZES = { F32: 4, F16: 2, U8: 1, I8: 1, BOOL: 1, I32: 4, I64: 8 };
const PATTERN = /^layers\.(\d+)\.attn\.pattern$/;

/** What is wrong with a file: `code` is `open.error.<code>` in the catalogue, `vars` fill it in. */
export class FileError extends Error {
  /** @param {string} code @param {Object<string, string|number>} [vars] */
  constructor(code, vars = {}) {
    super(code);
    this.name = "FileError";
    this.code = code;
    this.vars = vars;
  }
}

/**
 * @param {ArrayBuffer} buffer
 * @returns {import("./wire.js").Decoded} with `meta` of this version, patterns of all layers, and finite numbers
 * @throws {FileError}
 */
export function readTraceFile(buffer) {
  const { header, start } = headerOf(buffer);
  const meta = metaOf(header);
  for (const [name, entry] of Object.entries(header)) {
    if (name !== "__metadata__") checkEntry(name, entry, buffer.byteLength - start);
  }
  const decoded = decode(buffer);
  checkTokens(meta);
  checkDims(decoded);
  checkLayers(decoded);
  checkFinite(decoded);
  return decoded;
}

function headerOf(buffer) {
  if (buffer.byteLength > LARGEST) throw new FileError("too_large", { limit: LARGEST / 1e6 });
  const [p, k] = new Uint8Array(buffer, 0, Math.min(2, buffer.byteLength));
  if (p === 0x50 && k === 0x4b) throw new FileError("npz"); // a zip: numpy's own
  if (buffer.byteLength < 10) throw new FileError("not_ours");
  const length = new DataView(buffer).getBigUint64(0, true);
  if (length > BigInt(buffer.byteLength - 8)) throw new FileError("not_ours");
  const start = 8 + Number(length);
  return { header: parsed(new TextDecoder().decode(new Uint8Array(buffer, 8, start - 8))), start };
}

/** @param {string} text @returns {any} */
function parsed(text) {
  let value = null;
  try {
    value = JSON.parse(text);
  } catch {
    // told below
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new FileError("broken", { what: "JSON" });
  return value;
}

function metaOf(header) {
  const text = header.__metadata__?.chumoku;
  if (typeof text !== "string") throw new FileError("not_ours");
  const meta = parsed(text);
  if (meta.version !== VERSION) throw new FileError("version", { got: String(meta.version), known: VERSION });
  return meta;
}

/** A tensor's bytes must lie in the file, and be as many as its shape says. */
function checkEntry(name, entry, length) {
  const { dtype, shape, data_offsets: offsets } = entry ?? {};
  if (!isCounts(shape) || !isCounts(offsets) || offsets.length !== 2) throw new FileError("broken", { what: name });
  if (offsets[0] > offsets[1] || offsets[1] > length) throw new FileError("cut", { name });
  if (dtype !== (name.endsWith(".mask") ? "U8" : "F32")) throw new FileError("dtype", { name, dtype: String(dtype) });
  const bytes = shape.reduce((product, size) => product * size, SIZES[dtype]);
  if (bytes !== offsets[1] - offsets[0]) throw new FileError("shapes", { name, shape: shape.join(" × ") });
}

function isCounts(value) {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && item >= 0);
}

function checkTokens({ tokens, text, model, masks }) {
  const fine = (token, i) =>
    token?.index === i && Number.isSafeInteger(token.id) && typeof token.text === "string" && /^([0-9a-f]{2})*$/.test(token.bytes);
  if (!Array.isArray(tokens) || !tokens.length || !tokens.every(fine)) throw new FileError("broken", { what: "tokens" });
  const words = typeof text === "string" && typeof model === "string" && typeof masks?.causal === "boolean";
  if (!words) throw new FileError("broken", { what: "text, model, masks" });
}

/** What has the same name has the same size in every tensor; what is counted in tokens, as many as there are tokens. */
function checkDims({ meta, tensors }) {
  const n = meta.tokens.length;
  /** @type {Object<string, number>} */
  const sizes = { position: n, query: n, key: n };
  for (const [name, { shape, dims }] of Object.entries(tensors)) {
    const agrees = (size, i) => (sizes[dims[i]] ??= size) === size || (name.endsWith(".mask") && dims[i] === "head" && size === 1);
    if (dims.length !== shape.length || !shape.every(agrees)) throw new FileError("shapes", { name, shape: shape.join(" × ") });
  }
}

/** The overview needs every layer and every head. */
function checkLayers({ meta, tensors }) {
  const layers = Object.keys(tensors).flatMap((name) => name.match(PATTERN)?.[1] ?? []);
  if (!layers.length) throw new FileError("no_patterns");
  const whole = layers.every((_, layer) => tensors[`layers.${layer}.attn.pattern`]);
  if (!whole || (meta.heads ?? null) !== null) throw new FileError("part");
  if (!tensors["layers.0.attn.mask"]) throw new FileError("no_mask");
}

function checkFinite({ tensors }) {
  for (const [name, { data }] of Object.entries(tensors)) {
    if (data instanceof Float32Array && !data.every(Number.isFinite)) throw new FileError("not_finite", { name });
  }
}
