/** A saved trace, read and validated: errors in a file are reported before anything of it is shown. */

import { partOf } from "../model/places.js";
import { FileError, LARGEST, shown } from "./file_error.js";
import {
  checkDescription,
  checkDims,
  checkEntries,
  checkFinite,
  checkLayers,
  checkTokens,
  fit,
} from "./trace_checks.js";
import { configOf, META } from "./trace_schema.js";
import { decode } from "./wire.js";

/** @import { Decoded } from "./wire.js" */

/** Bytes: a header is mostly the tokens and their predictions. */
const LARGEST_HEADER = 8e6;
const VERSION = 2;

/**
 * The model whose description the file lacks; null if the file describes itself.
 * @param {ArrayBuffer} buffer @returns {string|null} @throws {FileError}
 */
export function describedBy(buffer) {
  const meta = metaOf(headerOf(buffer).header.__metadata__);
  return !meta.description ? String(meta.model) : null;
}

/**
 * @param {ArrayBuffer} buffer
 * @param {(name: string) => any} modelNamed  the server's model of this name, if it has one
 * @returns {Decoded} with a description in `meta`, the overviews of all layers, and finite numbers
 * @throws {FileError}
 */
export function readTraceFile(buffer, modelNamed) {
  const { header, start } = headerOf(buffer);
  const { __metadata__: about, ...entries } = header;
  const meta = metaOf(about);
  fit(META, meta, "");
  checkTokens(meta);
  meta.config = configOf(meta.config);
  checkEntries(entries, buffer.byteLength - start);
  meta.description ??= sameDescription(meta, modelNamed(meta.model));
  checkDescription(meta);
  for (const [name, { dtype }] of Object.entries(entries)) {
    const expected = partOf(meta, name)?.role === "mask" ? "U8" : "F32";
    if (dtype !== expected) throw new FileError("dtype", { name, dtype });
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

/** @type {WeakMap<ArrayBuffer, {header: any, start: number}>} a header is long: it is parsed once */
const headers = new WeakMap();

/** @param {ArrayBuffer} buffer */
function headerOf(buffer) {
  const found = headers.get(buffer) ?? readHeader(buffer);
  headers.set(buffer, found);
  return found;
}

/** @param {ArrayBuffer} buffer */
function readHeader(buffer) {
  if (buffer.byteLength > LARGEST) throw new FileError("too_large", { limit: LARGEST / 1e6 });
  const [p, k] = new Uint8Array(buffer, 0, Math.min(2, buffer.byteLength));
  if (p === 0x50 && k === 0x4b) throw new FileError("npz"); // a zip: an .npz file
  if (buffer.byteLength < 10) throw new FileError("not_ours");
  const length = new DataView(buffer).getBigUint64(0, true);
  if (length > BigInt(buffer.byteLength - 8)) throw new FileError("not_ours");
  if (length > LARGEST_HEADER) throw new FileError("large_header", { limit: LARGEST_HEADER / 1e6 });
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
  if (meta.version !== VERSION) throw new FileError("version", { got: shown(meta.version), known: VERSION });
  return meta;
}
