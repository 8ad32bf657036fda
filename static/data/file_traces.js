/** A saved trace in the place of the server: the same questions, answered out of the file. */

import { attentionOf, attentionsOf, partOf, predictsTokens, tapOf } from "../model/attentions.js";
import { distribution, entropyBits } from "../model/sampling.js";
import { detailNames } from "./model_trace.js";
import { N_CANDIDATES } from "./traces.js";

const LOGITS = "logits";
const PARTS = ["q", "k", "v", "scores", "mask", "pattern"];

/**
 * @param {import("./wire.js").Decoded} decoded  checked by trace_file.js
 * @param {{key: string, name: string, known: any, namesOf: ReturnType<typeof import("./token_names.js").createNames>}} about
 */
export function createFileTraces({ meta, tensors }, { key, name, known, namesOf }) {
  const model = modelOf({ meta, tensors }, known);
  const overview = { meta, model, key, file: name, lacks, tensors: picturesOf(model, tensors) };
  /** @type {Map<string, any>} */
  const details = new Map();

  /** Why a need cannot be met, as a key of the catalogue; null: it can. @param {string} need */
  function lacks(need) {
    if (need === "counts") return null;
    if (need.startsWith("tensor:")) return tensors[need.slice("tensor:".length)] ? null : "open.lacks_tensor";
    if (need === "prediction") return tensors[LOGITS] && predictsTokens(model) ? null : "open.lacks_logits";
    if (/^(weight|explain|rows):/.test(need)) return "open.lacks_model";
    if (need !== "detail" && need !== "heads") return "open.lacks_server";
    const layers = Array.from({ length: model.n_layer }, (_, layer) => layer);
    const there = attentionsOf(model).flatMap((one) => layers.flatMap((layer) => detailNames(one, layer)));
    return there.every((one) => tensors[one]) ? null : "open.lacks_detail";
  }

  function detail({ attention: id, layer, head }) {
    const attention = attentionOf(model, id);
    const at = `${attention.id}.${layer}.${head}`;
    if (!details.has(at)) details.set(at, detailFrom(tensors, meta, attention, layer, head));
    return details.get(at); // the same arrays for the same head: a picture is then not made anew
  }

  const heads = async ({ attention: id, layer }) => tensors[tapOf(attentionOf(model, id), layer, "pattern")];

  async function prediction({ temperature, topK, topP }, position) {
    const { data, shape } = tensors[LOGITS];
    const logits = /** @type {Float32Array} */ (data).subarray(position * shape[1], (position + 1) * shape[1]);
    const dist = distribution(logits, { temperature, topK, topP }, model.never_sampled);
    const words = await namesOf(dist.order.slice(0, N_CANDIDATES));
    return {
      position,
      next_index: position + 1,
      candidates: words.map((word) => ({
        ...word,
        before: dist.before[word.id],
        after: dist.after[word.id],
        kept: dist.kept[word.id],
      })),
      n_kept: dist.kept.filter(Boolean).length,
      mass_cut: dist.massCut,
      entropy_bits: entropyBits(dist.before),
      settings: { temperature, top_k: topK, top_p: topP },
    };
  }

  const bag = new Map(Object.entries(tensors));
  return {
    ...{ model, overview: async () => overview, detail: async (state) => detail(state), heads, prediction },
    ...{ counts: async () => null, tensors: async () => bag },
  };
}

/** One head out of the tensors of all. @returns {import("./model_trace.js").Detail} */
function detailFrom(tensors, meta, attention, layer, head) {
  const detail = { attention: attention.id, layer, head, causal: meta.masks.causal };
  for (const part of PARTS) {
    const {
      shape: [heads, rows, cols],
      data,
    } = tensors[tapOf(attention, layer, part)];
    const from = Math.min(head, heads - 1) * rows * cols; // a mask that all heads share comes once
    detail[part] = { shape: [rows, cols], data: data.subarray(from, from + rows * cols) };
  }
  return /** @type {any} */ (detail);
}

/** Weights as the bytes that a canvas is painted from; masks as they are. */
function picturesOf(model, tensors) {
  const wanted = Object.entries(tensors).filter(([name]) =>
    ["pattern", "mask"].includes(partOf(model, name)?.part ?? ""),
  );
  const bytes = (data) => new Uint8Array(Uint8ClampedArray.from(data, (weight) => weight * 255).buffer); // rounds
  return Object.fromEntries(
    wanted.map(([name, tensor]) => [
      name,
      tensor.data instanceof Float32Array ? { ...tensor, data: bytes(tensor.data) } : tensor,
    ]),
  );
}

/** The line of /api/models that the file would have: what its tensors say goes before everything else. */
function modelOf({ meta, tensors }, known) {
  const said = { family: meta.family ?? "decoder-only", attentions: attentionsOf(meta) };
  const [main] = said.attentions;
  const first = tensors[tapOf(main, 0, "pattern")];
  const wide = (name, at) => tensors[name]?.shape[at];
  const isLayer = (name) => partOf(said, name)?.part === "pattern" && partOf(said, name)?.attention === main;
  const n_layer = Object.keys(tensors).filter(isLayer).length;
  const config = meta.config ?? known ?? {};
  return {
    classes: (meta.classes ?? []).map(({ name }) => name),
    norm_order: tensors["final_norm.out"] ? "pre" : "post",
    tie_embeddings: false,
    ...known,
    ...config,
    ...said,
    name: meta.model,
    n_layer,
    n_head: first.shape[0],
    d_head: wide(tapOf(main, 0, "q"), 2) ?? config.d_head ?? 0,
    d_model: wide(main.path.replace("{layer}.attn", "0.resid_pre"), 1) ?? config.d_model ?? 0,
    vocab_size: (predictsTokens(said) ? wide(LOGITS, 1) : undefined) ?? config.vocab_size ?? 0,
    max_seq_len: meta.max_seq_len ?? meta.tokens.length,
    pad_id: meta.pad_id ?? known?.pad_id ?? null,
    end_id: meta.end_id ?? known?.end_id ?? null,
    never_sampled: neverSampled(meta, known),
  };
}

/** The ids that no text goes on with. Older files do not list them: then all special tokens that they name, but END. */
function neverSampled(meta, known) {
  if (meta.never_sampled) return meta.never_sampled;
  const special = [...meta.tokens, ...(meta.target_tokens ?? [])].filter((token) => token.special).map(({ id }) => id);
  const named = [meta.pad_id, meta.first_id, ...special, ...(known?.never_sampled ?? [])];
  const end = meta.end_id ?? known?.end_id ?? null;
  return [...new Set(named)].filter((id) => Number.isSafeInteger(id) && id !== end);
}
