/** A saved trace in place of the server: the same requests, answered from the file. */

import {
  answersTokens,
  attentionOf,
  attentionsOf,
  fillsMask,
  overviewOf,
  tapOf,
  writesTarget,
} from "../model/description.js";
import { distribution, entropyBits, FILTERS } from "../model/sampling.js";
import { sidesOf } from "../model/sides.js";
import { partOf } from "../model/taps.js";
import { detailNames, detailOf, N_CANDIDATES, samplingOf } from "./request.js";
import { readTraceFile } from "./trace_file.js";

/**
 * @import { Token } from "../model/labels.js"
 * @import { State } from "../state/store.js"
 * @import { FileError } from "./file_error.js"
 * @import { Detail } from "./model_trace.js"
 * @import { Models } from "./models.js"
 * @import { Decoded, Tensor } from "./wire.js"
 */

// Labels for the tokens of a saved trace. A file has the tokens of its sentence. For other ids the server is asked, if
// it has the model and its tokenizer spells the file's own tokens as the file does.

/** @typedef {Pick<Token, "id"|"text"|"bytes"|"partial"|"special">} Word */

/** How many of the file's own tokens are compared. */
const COMPARED = 64;

/**
 * @param {{trace: typeof import("./api.js").trace}} api
 * @param {any} meta  of the file
 * @param {any} known  the server's model of this name, if it has one
 */
export function createNames(api, meta, known) {
  /** @type {Map<number, Word>} */
  const words = new Map();
  /** @param {Word[]} tokens */
  const learn = (tokens) => {
    for (const token of tokens) if (!words.has(token.id)) words.set(token.id, token);
  };
  learn(meta.tokens);
  learn(meta.target_tokens ?? []);
  for (const { candidates } of meta.predictions ?? []) learn(candidates);
  let asking = known !== undefined;

  /** @param {number[]} ids */
  async function ask(ids) {
    const { start, end } = sidesOf(meta).source.real;
    /** @type {Word[]} */
    const own = meta.tokens.slice(start, end).slice(0, COMPARED);
    const token_ids = [...own.map((token) => token.id), ...ids];
    const target = writesTarget(meta) ? { target_ids: own.slice(0, 1).map(({ id }) => id) } : {};
    const { meta: told } = await api.trace({ model: known.name, token_ids, ...target, want: [], dtype: "float32" });
    if (own.some(({ bytes }, i) => told.tokens[i].bytes !== bytes)) asking = false;
    else learn(told.tokens);
  }

  /** @param {number[]} ids @returns {Promise<Word[]>} a label for each; the id itself if there is none */
  return async function namesOf(ids) {
    const missing = ids.filter((id) => !words.has(id));
    if (missing.length && asking) {
      await ask(missing).catch(() => {
        asking = false; // optional: ids can be shown instead
      });
    }
    return ids.map((id) => words.get(id) ?? { id, text: `#${id}`, bytes: "", partial: false, special: true });
  };
}

/**
 * @param {Decoded} decoded  checked by trace_file.js
 * @param {{key: string, name: string, known: any, namesOf: ReturnType<typeof import("./file_traces.js").createNames>}} about
 */
export function createFileTraces({ meta, tensors }, { key, name, known, namesOf }) {
  const model = modelOf(meta, known);
  const logitsOf = () => tensors[model.description.logits.tap];
  const overview = { meta, model, key, file: name, lacks, tensors: picturesOf(model, tensors) };
  /** @type {Map<string, any>} */
  const details = new Map();

  /** Why a need cannot be met, as a key of the catalogue; null: it can. @param {string} need */
  function lacks(need) {
    if (need === "counts" || need === "head_rows" || need.startsWith("code:")) return null;
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
  async function prediction(state, position) {
    const idOf = (/** @type {{id: number}} */ { id }) => id;
    const { data, shape } = logitsOf();
    const logits = /** @type {Float32Array} */ (data).subarray(position * shape[1], (position + 1) * shape[1]);
    const seen = (meta.target_tokens ?? meta.tokens).slice(0, position + (fillsMask(model) ? 0 : 1)).map(idOf);
    const dist = distribution(logits, state, model.never_sampled, seen);
    const words = await namesOf(dist.order.slice(0, N_CANDIDATES));
    return {
      position,
      next_index: fillsMask(model) ? position : position + 1,
      candidates: words.map((word) => ({
        ...word,
        before: dist.before[word.id],
        after: dist.after[word.id],
        kept: dist.kept[word.id],
        cut: FILTERS[dist.cut[word.id] - 1] ?? null,
      })),
      n_kept: dist.kept.filter(Boolean).length,
      entropy_bits: entropyBits(dist.before),
      masses_cut: Object.fromEntries(FILTERS.map((name, i) => [name, dist.masses[i]])),
      settings: { min_p: 0, repetition_penalty: 1, banned: [], ...samplingOf(state) },
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
function specialOf({ special: { pad, end, first, mask } = {}, tokens, target_tokens: written }, known) {
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

// An opened trace file as a source of traces. Loaded when the first file is opened.

/**
 * @param {ArrayBuffer} buffer @param {{key: string, name: string}} file
 * @param {{trace: typeof import("./api.js").trace}} api
 * @param {Pick<Models, "known">} models
 * @throws {FileError}
 */
export function openedFile(buffer, { key, name }, api, models) {
  const decoded = readTraceFile(buffer, models.known);
  const { meta } = decoded;
  const same = models.known(meta.model);
  const { shape = [] } = decoded.tensors[meta.description.logits.tap] ?? {};
  const known = same && same.vocab_size === (shape[1] ?? same.vocab_size) ? same : undefined;
  const traces = createFileTraces(decoded, { key, name, known, namesOf: createNames(api, meta, known) });
  return { key, meta, traces };
}
