/** A saved trace, read and checked: what is wrong with a file is said before anything of it is shown. */

import { attentionsOf, partOf, tapOf } from "../model/attentions.js";
import { decode } from "./wire.js";

/** Bytes. */
export const LARGEST = 100e6;
const VERSION = 1;
const SIZES = { F32: 4, F16: 2, U8: 1, I8: 1, BOOL: 1, I32: 4, I64: 8 };

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
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new FileError("broken", { what: "JSON" });
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

function checkTokens({ tokens, target_tokens: written, text, model, masks, attentions }) {
  const fine = (token, i) =>
    token?.index === i &&
    Number.isSafeInteger(token.id) &&
    typeof token.text === "string" &&
    /^([0-9a-f]{2})*$/.test(token.bytes);
  const isRow = (row) => Array.isArray(row) && row.length > 0 && row.every(fine);
  if (!isRow(tokens) || !isRow(written ?? tokens)) throw new FileError("broken", { what: "tokens" });
  const known = (one) => ["path", "queries", "keys"].every((name) => typeof one?.[name] === "string");
  if (attentions !== undefined && !(Array.isArray(attentions) && attentions.every(known)))
    throw new FileError("broken", { what: "attentions" });
  const words = typeof text === "string" && typeof model === "string" && typeof masks?.causal === "boolean";
  if (!words) throw new FileError("broken", { what: "text, model, masks" });
}

/**
 * What has the same name has the same size in every tensor; what is counted in tokens, as many as there are tokens: of the
 * side that asks, or of the one that is looked at.
 */
function checkDims({ meta, tensors }) {
  const counts = { source: meta.tokens.length, target: meta.target_tokens?.length ?? meta.tokens.length };
  /** @type {Object<string, number>} */
  const sizes = {};
  for (const [name, { shape, dims }] of Object.entries(tensors)) {
    const tokens = tokensOf(meta, name, counts);
    const agrees = (size, i) => {
      const expected = tokens[dims[i]] ?? (sizes[dims[i]] ??= size);
      return expected === size || (name.endsWith(".mask") && dims[i] === "head" && size === 1);
    };
    if (dims.length !== shape.length || !shape.every(agrees))
      throw new FileError("shapes", { name, shape: shape.join(" × ") });
  }
}

/** How many queries, keys and positions a tensor must have. */
function tokensOf(meta, name, counts) {
  const part = partOf(meta, name);
  if (!part) return { position: name.startsWith("encoder.") ? counts.source : counts.target };
  const [query, key] = [counts[part.attention.queries], counts[part.attention.keys]];
  return { query, key, position: part.part === "k" || part.part === "v" ? key : query };
}

/** The overview needs every layer and every head of each attention. */
function checkLayers({ meta, tensors }) {
  const names = Object.keys(tensors);
  const layersOf = (attention) =>
    names.map((name) => partOf(meta, name)).filter((at) => at?.attention === attention && at.part === "pattern").length;
  const layers = attentionsOf(meta).map(layersOf);
  if (layers.every((count) => count === 0)) throw new FileError("no_patterns");
  const isThere = (part) => (one) =>
    Array.from({ length: layers[0] }, (_, layer) => layer).every((layer) => tensors[tapOf(one, layer, part)]);
  const whole = layers.every((count) => count === layers[0]) && attentionsOf(meta).every(isThere("pattern"));
  if (!whole || (meta.heads ?? null) !== null) throw new FileError("part");
  if (!attentionsOf(meta).every((one) => tensors[tapOf(one, 0, "mask")])) throw new FileError("no_mask");
}

function checkFinite({ tensors }) {
  for (const [name, { data }] of Object.entries(tensors)) {
    if (data instanceof Float32Array && !data.every(Number.isFinite)) throw new FileError("not_finite", { name });
  }
}
