/** A saved trace, read and validated: errors in a file are reported before anything of it is shown. */

import { attentionsOf, has, overviewOf, stacksOf, tapOf } from "../model/description.js";
import { isComplete } from "../model/identities.js";
import { memo } from "../model/memo.js";
import { partOf, sideOfTap } from "../model/taps.js";
import { FileError, LARGEST, shortened } from "./file_error.js";
import { configOf, DESCRIPTION, META, MOST } from "./trace_schema.js";
import { decode } from "./wire.js";

/**
 * @import { SideName } from "../model/description.js"
 * @import { Part } from "../model/taps.js"
 * @import { Check } from "./trace_schema.js"
 * @import { Decoded } from "./wire.js"
 */

// What must hold between the parts of a saved trace, once each of them has its type.

/** @param {Check} check @param {unknown} value @param {string} name */
function fit(check, value, name) {
  const misfit = check(value, name);
  if (misfit !== null) throw new FileError("broken", { what: misfit });
}

/** @param {boolean} holds @param {string} what  the part that does not fit the others */
function must(holds, what) {
  if (!holds) throw new FileError("broken", { what });
}

/** Tokens in their order, and a position for each. @param {any} meta */
function checkTokens(meta) {
  const rows = { tokens: "position_ids", target_tokens: "target_position_ids" };
  for (const [row, places] of Object.entries(rows)) {
    const tokens = meta[row] ?? null;
    if (tokens === null) continue;
    must(
      tokens.every((/** @type {any} */ { index }, /** @type {number} */ i) => index === i),
      row,
    );
    meta[places] ??= tokens.map((/** @type {unknown} */ _, /** @type {number} */ i) => i);
    if (meta[places].length !== tokens.length) throw misshapen(places, [meta[places].length]);
  }
  must((meta.pad?.count ?? 0) < meta.tokens.length, "pad");
}

/**
 * Check that every tensor has its bytes in the file, as many as its shape says, and that all of them fit into the file.
 * @param {Record<string, any>} entries  of the header @param {number} length  of all tensors
 */
function checkEntries(entries, length) {
  const all = Object.entries(entries);
  if (all.length > MOST.tensors) throw new FileError("tensors", { limit: MOST.tensors });
  let sum = 0;
  for (const [name, entry] of all) sum += checkEntry(name, entry, length);
  must(sum <= length, "data_offsets");
}

/** @param {string} name @param {any} entry @param {number} length @returns {number} its bytes */
function checkEntry(name, entry, length) {
  const { dtype, shape, data_offsets: offsets } = entry ?? {};
  const fine = isCounts(shape) && isCounts(offsets) && offsets.length === 2 && typeof dtype === "string";
  if (!fine || name === "__proto__") throw new FileError("broken", { what: shortened(name) });
  const [from, to] = offsets;
  if (from > to || to > length) throw new FileError("cut", { name: shortened(name) });
  const known = dtype === "U8" || dtype === "F32";
  const bytes = shape.reduce((product, size) => product * size, dtype === "U8" ? 1 : 4);
  if (known && (bytes === 0 || bytes !== to - from)) throw misshapen(name, shape);
  return to - from;
}

/** @param {string} name @param {number[]} shape */
const misshapen = (name, shape) =>
  new FileError("shapes", { name: shortened(name), shape: shape.slice(0, 8).join(" × ") || "( )" });

/** @param {unknown} value @returns {value is number[]} */
function isCounts(value) {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && item >= 0);
}

/** Check that a description's parts refer to each other, that it can be drawn, and that it fits the tokens. @param {any} meta */
function checkDescription({ description, target_tokens: written }) {
  fit(DESCRIPTION, description, "description");
  const { attentions, logits, stacks, sides, writes } = description;
  /** @param {{id: string}[]} named @param {string} id */
  const knows = (named, id) => named.some((one) => one.id === id);
  const used = [
    ...sides,
    writes ?? "source",
    ...attentions.flatMap((/** @type {any} */ one) => [one.queries, one.keys]),
  ];
  must(!used.includes("target") || Boolean(written), "target_tokens");
  must(knows(stacks, logits.stack), "description.logits.stack");
  for (const [i, one] of attentions.entries()) {
    const at = `description.attentions[${i}]`;
    const { n_layer: n, n_head: heads, roles, overview } = one;
    if (n * heads > MOST.heads) throw new FileError("heads", { limit: MOST.heads });
    must(knows(stacks, one.stack), `${at}.stack`);
    must(overview === null || Object.hasOwn(roles, overview), `${at}.overview`);
    for (const [role, { taps }] of Object.entries(/** @type {Record<string, any>} */ (roles)))
      must(taps.length === n, `${at}.roles.${role}`);
    for (const identity of one.identities) {
      const { of, gives } = identity;
      const known = (/** @type {string} */ name) => Object.hasOwn(roles, name) || Object.hasOwn(one.parameters, name);
      must(isComplete(identity) && [...of, gives].every(known), `${at}.identities`);
    }
  }
  for (const { id, layers, side } of stacksOf({ description })) {
    must(sides.includes(side), `description.stacks.${id}.side`);
    const attending = layers.flatMap(({ sublayers }) => sublayers.filter(({ kind }) => kind === "attention"));
    for (const { attention, layer } of /** @type {any[]} */ (attending)) {
      const found = attentions.find((/** @type {any} */ one) => one.id === attention);
      must(found !== undefined && layer < found.n_layer, `description.stacks.${id}`);
    }
  }
}

/**
 * Check that each dimension has the size that the tokens and the description say, and any other the same in all tensors.
 * @param {Decoded} decoded
 */
export function checkDims({ meta, tensors }) {
  const counts = { source: meta.tokens.length, target: meta.target_tokens?.length ?? meta.tokens.length };
  /** @type {Map<string, number>} */
  const sizes = new Map();
  for (const [name, { shape, dims }] of Object.entries(tensors)) {
    const part = partOf(meta, name);
    if (part) must(dims.join(" ") === part.attention.roles[part.role].dims, `dims.${shortened(name)}`);
    const isMask = part?.role === "mask";
    const known = sizesOf(meta, name, counts);
    /** @param {number} size @param {number} i */
    const agrees = (size, i) => {
      const dim = dims[i];
      if (!known.has(dim) && !sizes.has(dim)) sizes.set(dim, size);
      return (known.get(dim) ?? sizes.get(dim)) === size || (isMask && dim === "head" && size === 1);
    };
    if (dims.length !== shape.length || !shape.every(agrees)) throw misshapen(name, shape);
  }
}

/**
 * The size of each dimension of a tensor that is known without it.
 * @param {any} meta @param {string} name @param {Record<SideName, number>} counts
 */
function sizesOf(meta, name, counts) {
  const part = partOf(meta, name);
  const { d_model, vocab_size: vocab, classes } = meta.description;
  const all = {
    d_model,
    vocab,
    class: classes.length,
    ...(part ? sizesIn(part, counts) : { position: counts[sideOfTap(meta, name)] }),
  };
  return new Map(Object.entries(all).filter(([, size]) => size > 0));
}

/** @param {Part} part @param {Record<SideName, number>} counts */
function sizesIn({ attention, role }, counts) {
  const { queries, keys, n_head: head, n_kv_head: kv_head, d_head } = attention;
  const [query, key] = [counts[queries], counts[keys]];
  const { rows } = attention.roles[role];
  return { query, key, position: rows === "key" ? key : query, head, kv_head, d_head };
}

/** The overview needs every layer and every head of each attention that has one. @param {Decoded} decoded */
function checkLayers({ meta, tensors }) {
  const drawn = attentionsOf(meta).filter(overviewOf);
  const taps = drawn.flatMap((one) => one.roles[overviewOf(one) ?? ""].taps);
  if (drawn.length && !taps.some((tap) => tensors[tap])) throw new FileError("no_patterns");
  if (!taps.every((tap) => tensors[tap]) || (meta.heads ?? null) !== null || meta.pool > 1) throw new FileError("part");
  const masked = attentionsOf(meta).filter((one) => has(one, "mask"));
  if (!masked.every((one) => tensors[tapOf(one, 0, "mask")])) throw new FileError("no_mask");
}

/** @param {Decoded} decoded */
function checkFinite({ tensors }) {
  for (const [name, { data }] of Object.entries(tensors)) {
    if (data instanceof Float32Array && !data.every(Number.isFinite)) throw new FileError("not_finite", { name });
  }
}

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

/** A header is long: it is parsed once. */
const headerOf = memo((/** @type {ArrayBuffer} */ buffer) => {
  if (buffer.byteLength > LARGEST) throw new FileError("too_large", { limit: LARGEST / 1e6 });
  const [p, k] = new Uint8Array(buffer, 0, Math.min(2, buffer.byteLength));
  if (p === 0x50 && k === 0x4b) throw new FileError("npz"); // a zip: an .npz file
  if (buffer.byteLength < 10) throw new FileError("not_ours");
  const length = new DataView(buffer).getBigUint64(0, true);
  if (length > BigInt(buffer.byteLength - 8)) throw new FileError("not_ours");
  if (length > LARGEST_HEADER) throw new FileError("large_header", { limit: LARGEST_HEADER / 1e6 });
  const start = 8 + Number(length);
  return { header: parsed(new TextDecoder().decode(new Uint8Array(buffer, 8, start - 8))), start };
});

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
  if (meta.version !== VERSION) throw new FileError("version", { got: shortened(meta.version), known: VERSION });
  return meta;
}
