/** A saved trace in place of the server: the same requests, answered from the file. */

import { answersTokens, attentionOf, attentionsOf, fillsGaps, overviewOf, tapOf } from "../model/description.js";
import { partOf } from "../model/places.js";
import { distribution, entropyBits } from "../model/sampling.js";
import { detailNames, detailOf } from "./detail.js";
import { N_CANDIDATES } from "./request.js";

/**
 * @import { State } from "../state/store.js"
 * @import { Detail } from "./model_trace.js"
 * @import { Decoded, Tensor } from "./wire.js"
 */

/**
 * @param {Decoded} decoded  checked by trace_file.js
 * @param {{key: string, name: string, known: any, namesOf: ReturnType<typeof import("./token_names.js").createNames>}} about
 */
export function createFileTraces({ meta, tensors }, { key, name, known, namesOf }) {
  const model = modelOf(meta, known);
  const logitsOf = () => tensors[model.description.logits.tap];
  const overview = { meta, model, key, file: name, lacks, tensors: picturesOf(model, tensors) };
  /** @type {Map<string, any>} */
  const details = new Map();

  /** Why a need cannot be met, as a key of the catalogue; null: it can. @param {string} need */
  function lacks(need) {
    if (need === "counts" || need === "looks" || need.startsWith("code:")) return null;
    if (need.startsWith("tensor:")) return tensors[need.slice("tensor:".length)] ? null : "open.lacks_tensor";
    if (need === "prediction") return logitsOf() && answersTokens(model) ? null : "open.lacks_logits";
    if (/^(weight|explain|rows):/.test(need)) return "open.lacks_model";
    if (need !== "detail" && need !== "heads") return "open.lacks_server";
    /** @param {number} n */
    const layers = (n) => Array.from({ length: n }, (_, layer) => layer);
    const names = attentionsOf(model).flatMap((one) => layers(one.n_layer).flatMap((layer) => detailNames(one, layer)));
    return names.every((one) => tensors[one]) ? null : "open.lacks_detail";
  }

  /** @param {State} state @returns {Detail} */
  function detail({ attention: id, layer, head }) {
    const attention = attentionOf(model, id);
    const at = `${attention.id}.${layer}.${head}`;
    if (!details.has(at)) details.set(at, detailOf({ meta, tensors }, attention, layer, head));
    return details.get(at); // the same arrays for the same head, so that a picture is not redrawn
  }

  /** @param {State} state */
  const heads = async ({ attention: id, layer }) => {
    const attention = attentionOf(model, id);
    return tensors[tapOf(attention, layer, overviewOf(attention) ?? "")];
  };

  /** @param {State} state @param {number} position */
  async function prediction({ temperature, topK, topP }, position) {
    const { data, shape } = logitsOf();
    const logits = /** @type {Float32Array} */ (data).subarray(position * shape[1], (position + 1) * shape[1]);
    const dist = distribution(logits, { temperature, topK, topP }, model.never_sampled);
    const words = await namesOf(dist.order.slice(0, N_CANDIDATES));
    return {
      position,
      next_index: fillsGaps(model) ? position : position + 1,
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
    model,
    overview: async () => overview,
    detail: async (/** @type {State} */ state) => detail(state),
    heads,
    prediction,
    counts: async () => null,
    tensors: async () => bag,
  };
}

/** Weights as the bytes that a canvas is painted from; masks unchanged. @param {any} model @param {Record<string, Tensor>} tensors */
function picturesOf(model, tensors) {
  /** @param {ReturnType<typeof partOf>} part */
  const isPicture = (part) => part && ["mask", overviewOf(part.attention)].includes(part.role);
  const wanted = Object.entries(tensors).filter(([name]) => isPicture(partOf(model, name)));
  /** @param {Float32Array} data */
  const bytes = (data) => new Uint8Array(Uint8ClampedArray.from(data, (weight) => weight * 255).buffer); // rounds
  return Object.fromEntries(
    wanted.map(([name, tensor]) => [
      name,
      tensor.data instanceof Float32Array ? { ...tensor, data: bytes(tensor.data) } : tensor,
    ]),
  );
}

/** What /api/models/{name} would say about the file's model. The file's own statements come first. @param {any} meta @param {any} known */
function modelOf(meta, known) {
  const { description } = meta;
  const [{ n_layer, n_head, d_head }] = description.attentions;
  const { classes, d_model, vocab_size, max_seq_len, picture = null } = description;
  return {
    ...known,
    ...meta.config,
    name: meta.model,
    description,
    n_layer,
    n_head,
    d_head,
    classes,
    d_model,
    vocab_size,
    max_seq_len,
    picture,
    special: specialOf(meta, known),
    never_sampled: neverSampled(meta, known),
  };
}

/** The special tokens; the file's own tokens say how the first one is written. @param {any} meta @param {any} known */
function specialOf({ special: { pad, end, first, mask }, tokens, target_tokens: written }, known) {
  const started = [...tokens, ...(written ?? [])].find(({ id }) => id === first);
  return {
    pad: pad ?? known?.special?.pad ?? null,
    end: end ?? known?.special?.end ?? null,
    first: started ? { id: started.id, text: started.text } : (known?.special?.first ?? null),
    mask: mask ?? known?.special?.mask ?? null,
  };
}

/**
 * The ids that are never sampled. Older files do not list them: then all special tokens that they name, except END.
 * @param {any} meta @param {any} known
 */
function neverSampled(meta, known) {
  if (meta.never_sampled) return meta.never_sampled;
  const special = [...meta.tokens, ...(meta.target_tokens ?? [])].filter((token) => token.special).map(({ id }) => id);
  const named = [meta.special.pad, meta.special.first, ...special, ...(known?.never_sampled ?? [])];
  const end = meta.special.end ?? known?.special?.end ?? null;
  return [...new Set(named)].filter((id) => Number.isSafeInteger(id) && id !== end);
}
