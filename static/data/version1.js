/**
 * Traces saved before models described themselves (version 1): their description, made from their metadata and
 * tensors. It knows the three families of that time. Only this file and model/description.js know names of tensors.
 */

import { MOST } from "./trace_schema.js";

/** @import { Attention, Description, Stack, Sublayer } from "../model/description.js" */

/**
 * @typedef {Object<string, {shape: number[]}>} Shapes  of the tensors of a file
 * @typedef {{id: string, path: string, queries: "source"|"target", keys: "source"|"target", causal?: boolean}} Path  `path` holds `{layer}`
 * @typedef {any} About  the configuration, the sizes, the family, and the place of the LayerNorms
 */

const STREAM = "position d_model";
const HEADS = {
  q: "head position d_head",
  k: "kv_head position d_head",
  v: "kv_head position d_head",
  scores: "head query key",
  mask: "head query key",
  pattern: "head query key",
  z: "head position d_head",
  head_out: "head position d_model",
  attn_out: STREAM,
};
/** Before roles said so, these were those with a row for each key. @param {string} role @returns {{rows?: "key"}} */
export const rowsOf = (role) => (role === "k" || role === "v" ? { rows: "key" } : {});
const IDENTITIES = [
  { op: "scaled_product", of: ["q", "k"], gives: "scores" },
  { op: "masked_softmax", of: ["scores", "mask"], gives: "pattern" },
  { op: "weighted_sum", of: ["pattern", "v"], gives: "z" },
  { op: "sum_heads", of: ["head_out", "b_o"], gives: "attn_out" },
];
/** The attentions of a file that does not list them. @type {Path[]} */
const DECODER = [{ id: "self", path: "layers.{layer}.attn", queries: "source", keys: "source", causal: true }];

/** @param {string} tap */
const stream = (tap) => ({ tap, dims: STREAM });
/** @param {number} n */
const numbers = (n) => Array.from({ length: n }, (_, i) => i);

/** The ids of the special tokens, as newer files have them; null for those that an old one does not name. @param {any} meta */
export const specialIds = ({ pad_id: pad = null, end_id: end = null, first_id: first = null }) => ({ pad, end, first });

/**
 * @param {{meta: any, tensors: Shapes}} decoded  of version 1
 * @param {any} known  the configuration of the server's model of this name, for what the file does not say
 * @returns {Description}
 */
export function described({ meta, tensors }, known) {
  const config = { ...known, ...meta.config };
  const family = meta.family ?? "decoder-only";
  /** @type {Path[]} */
  const paths = meta.attentions?.length ? meta.attentions : DECODER;
  const sizes = sizesOf(tensors, paths, config);
  const about = {
    ...config,
    ...sizes,
    family,
    place: config.norm_order ?? (tensors["final_norm.out"] ? "pre" : "post"),
  };
  const prefixes = [...new Set(paths.map(prefixOf))];
  const stacks = prefixes.map((prefix) => stackOf(prefix, paths, about));
  const classifies = family === "encoder-only";
  const translates = family === "encoder-decoder";
  const outs = classifies
    ? { unembedding: "classifier.weight", b_unembedding: "classifier.bias" }
    : { unembedding: "unembedding.weight", b_unembedding: null };
  return {
    id: `version1 ${meta.model}`,
    family,
    predicts: classifies ? "classes" : "next",
    writes: classifies ? null : translates ? "target" : "source",
    sides: translates ? ["source", "target"] : ["source"],
    classes: (meta.classes ?? []).map((/** @type {{name: string}} */ { name }) => name),
    d_model: about.d_model,
    vocab_size: (classifies ? undefined : tensors.logits?.shape[1]) ?? config.vocab_size ?? 0,
    max_seq_len: meta.max_seq_len ?? meta.tokens.length,
    can: {}, // a file can only be shown
    stacks,
    logits: {
      tap: "logits",
      dims: classifies ? "class" : "position vocab",
      stack: stacks[stacks.length - 1].id,
      parameters: outs,
    },
    attentions: paths.map((one) => attentionOf(one, about)),
  };
}

/** "", "encoder." or "decoder.": the stack that an attention's path is in. @param {{path: string}} attention */
const prefixOf = ({ path }) => path.slice(0, path.indexOf("layers."));
/** @param {string} prefix */
const idOf = (prefix) => prefix.slice(0, -1) || "main";
/** @param {string} path @param {number} layer */
const at = (path, layer) => path.replace("{layer}", String(layer));

/** The tensors take precedence over the configuration. @param {Shapes} tensors @param {Path[]} paths @param {any} config */
function sizesOf(tensors, paths, config) {
  const [{ path }] = paths;
  const wide = (/** @type {string} */ name, /** @type {number} */ axis) => tensors[name]?.shape?.[axis];
  const count = Math.min(Object.keys(tensors).length, MOST.layers + 1);
  const isThere = (/** @type {string} */ base) => Object.keys(HEADS).some((role) => tensors[`${base}.${role}`]);
  const layersOf = (/** @type {Path} */ one) =>
    numbers(count).findLastIndex((layer) => isThere(at(one.path, layer))) + 1;
  return {
    n_layer: count ? Math.max(...paths.map(layersOf)) : config.n_layer,
    n_head: wide(`${at(path, 0)}.pattern`, 0) ?? config.n_head ?? 0,
    d_head: wide(`${at(path, 0)}.q`, 2) ?? config.d_head ?? 0,
    d_model: wide(`${at(path, 0).replace(/attn$/, "resid_pre")}`, 1) ?? config.d_model ?? 0,
  };
}

/** @param {Path} path @param {About} about @returns {Attention} */
function attentionOf({ id, path, queries, keys, causal }, { n_layer, n_head, d_head }) {
  const each = (/** @type {string} */ name) => numbers(n_layer).map((layer) => `${at(path, layer)}.${name}`);
  const letters = ["q", "k", "v", "o"];
  return {
    id,
    kind: "softmax",
    stack: idOf(prefixOf({ path })),
    queries,
    keys,
    causal: causal ?? true,
    n_layer,
    n_head,
    n_kv_head: n_head,
    d_head,
    scale: d_head ? 1 / Math.sqrt(d_head) : null,
    overview: "pattern",
    roles: Object.fromEntries(
      Object.entries(HEADS).map(([role, dims]) => [role, { dims, taps: each(role), ...rowsOf(role) }]),
    ),
    parameters: Object.fromEntries(
      letters.flatMap((letter) => [
        [`w_${letter}`, each(`w_${letter}.weight`)],
        [`b_${letter}`, each(`w_${letter}.bias`)],
      ]),
    ),
    parts: {},
    identities: IDENTITIES,
    hands_over: ["pattern", "v", "w_o"],
  };
}

/** @param {string} prefix @param {Path[]} paths @param {About} about @returns {Stack} */
function stackOf(prefix, paths, about) {
  const { n_layer, place, position } = about;
  const own = paths.filter((one) => prefixOf(one) === prefix);
  const layers = numbers(n_layer).map((layer) => ({ sublayers: sublayersOf(prefix, own, layer, about) }));
  const last = layers.at(-1)?.sublayers.at(-1);
  const ends = place !== "post"; // otherwise the last block ends with a norm
  const tables = {
    embedding: `${prefix}token_embedding.weight`,
    positions: position === "learned" ? `${prefix}positions.table.weight` : null,
  };
  return {
    id: idOf(prefix),
    side: own[0].queries,
    embedding: {
      roles: { embedding: stream(`${prefix}embedding`), positional: stream(`${prefix}positional`) },
      scale: about.scale_embeddings === undefined ? null : about.scale_embeddings ? Math.sqrt(about.d_model) : 1,
      positions: position ?? "learned",
      parameters: tables,
    },
    layers,
    final_norm: ends ? normOf(`${prefix}final_norm`, { ...about, place: "pre" }) : null,
    leaves: ends || !last ? stream(`${prefix}final_norm.out`) : last.leaves,
  };
}

/** @param {string} path @param {About} about */
function normOf(path, { place, layer_norm_eps: eps = 1e-5 }) {
  const roles = { input: stream(`${path}.input`), out: stream(`${path}.out`) };
  return { kind: "layer_norm", eps, place, roles, parameters: { gain: `${path}.weight`, bias: `${path}.bias` } };
}

/** @param {string} prefix @param {Path[]} own @param {number} layer @param {About} about @returns {Sublayer[]} */
function sublayersOf(prefix, own, layer, about) {
  const block = `${prefix}layers.${layer}`;
  const streams =
    own.length > 1 ? ["resid_pre", "resid_mid", "resid_cross", "resid_post"] : ["resid_pre", "resid_mid", "resid_post"];
  const paths = [...own.map(({ path }) => at(path, layer)), `${block}.ffn`];
  return paths.map((path, i) => {
    const norm = normOf(`${path}_residual.norm`, about);
    const [reads, leaves] = [stream(`${block}.${streams[i]}`), stream(`${block}.${streams[i + 1]}`)];
    const writes = stream(own[i] ? `${path}.attn_out` : `${path}.out`);
    const around = { reads, writes, leaves, norm, input: about.place === "pre" ? norm.roles.out : reads };
    if (own[i]) return { kind: /** @type {const} */ ("attention"), ...around, attention: own[i].id, layer };
    const wide = (/** @type {string} */ tap) => ({ tap: `${path}.${tap}`, dims: "position d_ff" });
    const roles = { pre: wide("pre"), post: wide("post"), out: writes };
    const parameters = {
      w_1: `${path}.w_1.weight`,
      b_1: `${path}.w_1.bias`,
      w_2: `${path}.w_2.weight`,
      b_2: `${path}.w_2.bias`,
    };
    return {
      kind: /** @type {const} */ ("ffn"),
      ...around,
      layer,
      roles,
      parameters,
      activation: "relu",
      gate: null,
      d_ff: about.d_ff ?? 0,
    };
  });
}
