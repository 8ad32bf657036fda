/** A saved trace, read and validated: errors in a file are reported before anything of it is shown. */

import { attentionsOf, has, overviewOf, tapOf } from "../model/description.js";
import { partOf, sideOfTap } from "../model/places.js";
import { described, specialIds } from "./version1.js";
import { decode } from "./wire.js";

/** Bytes. */
export const LARGEST = 100e6;
const VERSION = 2;

/** An error in a file: `code` is `open.error.<code>` in the catalogue, `vars` fill it in. */
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
 * The model whose description the file lacks; null if the file describes itself.
 * @param {ArrayBuffer} buffer @returns {string|null} @throws {FileError}
 */
export function describedBy(buffer) {
  const meta = metaOf(headerOf(buffer).header.__metadata__);
  return meta.version === VERSION && !meta.description ? String(meta.model) : null;
}

/**
 * @param {ArrayBuffer} buffer
 * @param {(name: string) => any} modelNamed  the server's model of this name, if it has one
 * @returns {import("./wire.js").Decoded} with a description in `meta`, the overviews of all layers, and finite numbers
 * @throws {FileError}
 */
export function readTraceFile(buffer, modelNamed) {
  const { header, start } = headerOf(buffer);
  const { __metadata__: about, ...entries } = header;
  const meta = metaOf(about);
  checkTokens(meta);
  const known = modelNamed(meta.model);
  meta.description ??=
    meta.version === VERSION ? sameDescription(meta, known) : described({ meta, tensors: entries }, known);
  checkDescription(meta.description);
  meta.special ??= specialIds(meta);
  for (const [name, entry] of Object.entries(entries)) {
    checkEntry(name, entry, buffer.byteLength - start, partOf(meta, name)?.role === "mask");
  }
  const decoded = { ...decode(buffer), meta };
  checkDims(decoded);
  checkLayers(decoded);
  checkFinite(decoded);
  return decoded;
}

/** The description that a file names, of the server's model. @param {any} meta @param {any} known */
function sameDescription({ model, description_id: id }, known) {
  const description = known?.description;
  if (!description || description.id !== id) throw new FileError("no_description", { model });
  return description;
}

/** @param {ArrayBuffer} buffer */
function headerOf(buffer) {
  if (buffer.byteLength > LARGEST) throw new FileError("too_large", { limit: LARGEST / 1e6 });
  const [p, k] = new Uint8Array(buffer, 0, Math.min(2, buffer.byteLength));
  if (p === 0x50 && k === 0x4b) throw new FileError("npz"); // a zip: an .npz file
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
    // reported below
  }
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new FileError("broken", { what: "JSON" });
  return value;
}

/** @param {any} about  the header's __metadata__ */
function metaOf(about) {
  const text = about?.chumoku;
  if (typeof text !== "string") throw new FileError("not_ours");
  const meta = parsed(text);
  if (meta.version === 1) return { ...meta, description: undefined };
  if (meta.version !== VERSION) throw new FileError("version", { got: String(meta.version), known: VERSION });
  return meta;
}

/**
 * A tensor's bytes must be inside the file, and match its shape.
 * @param {string} name @param {any} entry @param {number} length  of all tensors @param {boolean} isMask
 */
function checkEntry(name, entry, length, isMask) {
  const { dtype, shape, data_offsets: offsets } = entry ?? {};
  if (!isCounts(shape) || !isCounts(offsets) || offsets.length !== 2) throw new FileError("broken", { what: name });
  if (offsets[0] > offsets[1] || offsets[1] > length) throw new FileError("cut", { name });
  if (dtype !== (isMask ? "U8" : "F32")) throw new FileError("dtype", { name, dtype: String(dtype) });
  const bytes = shape.reduce((product, size) => product * size, isMask ? 1 : 4);
  if (bytes !== offsets[1] - offsets[0]) throw new FileError("shapes", { name, shape: shape.join(" × ") });
}

/** @param {unknown} value @returns {value is number[]} */
function isCounts(value) {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && item >= 0);
}

/** @param {any} meta */
function checkTokens({ tokens, target_tokens: written, text, model, masks, attentions }) {
  /** @param {any} token @param {number} i */
  const fine = (token, i) =>
    token?.index === i &&
    Number.isSafeInteger(token.id) &&
    typeof token.text === "string" &&
    /^([0-9a-f]{2})*$/.test(token.bytes);
  /** @param {unknown} row */
  const isRow = (row) => Array.isArray(row) && row.length > 0 && row.every(fine);
  if (!isRow(tokens) || !isRow(written ?? tokens)) throw new FileError("broken", { what: "tokens" });
  /** @param {any} one */
  const known = (one) => ["path", "queries", "keys"].every((name) => typeof one?.[name] === "string");
  if (attentions !== undefined && !(Array.isArray(attentions) && attentions.every(known)))
    throw new FileError("broken", { what: "attentions" });
  const words = typeof text === "string" && typeof model === "string" && typeof masks?.causal === "boolean";
  if (!words) throw new FileError("broken", { what: "text, model, masks" });
}

/**
 * A dimension has the same size in every tensor. Dimensions that count tokens have as many as the side of the queries
 * or of the keys.
 * @param {import("./wire.js").Decoded} decoded
 */
function checkDims({ meta, tensors }) {
  const counts = { source: meta.tokens.length, target: meta.target_tokens?.length ?? meta.tokens.length };
  /** @type {Object<string, number>} */
  const sizes = {};
  for (const [name, { shape, dims }] of Object.entries(tensors)) {
    const isMask = partOf(meta, name)?.role === "mask";
    const tokens = tokensOf(meta, name, counts);
    /** @param {number} size @param {number} i */
    const agrees = (size, i) => {
      const dim = dims[i];
      if (tokens[dim] === undefined) sizes[dim] ??= size;
      const expected = tokens[dim] ?? sizes[dim];
      return expected === size || (isMask && dim === "head" && size === 1);
    };
    if (dims.length !== shape.length || !shape.every(agrees))
      throw new FileError("shapes", { name, shape: shape.join(" × ") });
  }
}

/**
 * How many queries, keys and positions a tensor must have.
 * @param {any} meta @param {string} name @param {Record<import("../model/description.js").SideName, number>} counts
 * @returns {Record<string, number>}
 */
function tokensOf(meta, name, counts) {
  const part = partOf(meta, name);
  if (!part) return { position: counts[sideOfTap(meta, name)] };
  const [query, key] = [counts[part.attention.queries], counts[part.attention.keys]];
  return { query, key, position: part.role === "k" || part.role === "v" ? key : query };
}

/** The overview needs every layer and every head of each attention that has one. @param {import("./wire.js").Decoded} decoded */
function checkLayers({ meta, tensors }) {
  const drawn = attentionsOf(meta).filter(overviewOf);
  const taps = drawn.flatMap((one) => one.roles[overviewOf(one) ?? ""].taps);
  if (drawn.length && !taps.some((tap) => tensors[tap])) throw new FileError("no_patterns");
  if (!taps.every((tap) => tensors[tap]) || (meta.heads ?? null) !== null) throw new FileError("part");
  const masked = attentionsOf(meta).filter((one) => has(one, "mask"));
  if (!masked.every((one) => tensors[tapOf(one, 0, "mask")])) throw new FileError("no_mask");
}

/**
 * Checks enough of it to look up names. A tensor that it names and the file lacks is reported where it is needed.
 * @param {any} description
 */
function checkDescription({ attentions, stacks, logits }) {
  /** @param {unknown} value */
  const isList = (value) => Array.isArray(value) && value.length > 0;
  /** @param {any} taps */
  const names = (taps) => isList(taps) && taps.every((/** @type {unknown} */ tap) => typeof tap === "string");
  /** @param {any} role */
  const isRole = (role) => typeof role?.dims === "string" && names(role.taps);
  /** @param {any} one */
  const isAttention = (one) =>
    ["id", "stack", "queries", "keys"].every((name) => typeof one?.[name] === "string") &&
    Object.values(one.roles ?? {}).every((role) => isRole(role) && role.taps.length === one.n_layer) &&
    (one.overview === null || isRole(one.roles?.[one.overview]));
  /** @param {any} one */
  const isStack = (one) => typeof one?.id === "string" && isList(one.layers) && typeof one.leaves?.tap === "string";
  const fine = isList(attentions) && attentions.every(isAttention) && isList(stacks) && stacks.every(isStack);
  if (!fine || typeof logits?.tap !== "string") throw new FileError("broken", { what: "description" });
}

/** @param {import("./wire.js").Decoded} decoded */
function checkFinite({ tensors }) {
  for (const [name, { data }] of Object.entries(tensors)) {
    if (data instanceof Float32Array && !data.every(Number.isFinite)) throw new FileError("not_finite", { name });
  }
}
