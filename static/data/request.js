/** Builds the request for a run. No DOM. */

import { attentionOf, attentionsOf, has, overviewOf, tapOf, writesTarget } from "../model/description.js";
import { maskEdited, withPads } from "../model/interventions.js";
import { isInStack, partOf, widestOf } from "../model/taps.js";
import { aroundOf, runOf } from "../state/run.js";

/**
 * @import { Attention } from "../model/description.js"
 * @import { Run } from "../state/run.js"
 * @import { State } from "../state/store.js"
 * @import { Detail } from "./model_trace.js"
 * @import { Decoded } from "./wire.js"
 */

/**
 * A run as the API takes it. Fields without effect are left out (without PADs, their switches), so that each picture
 * has exactly one request.
 * @param {Run} run
 */
export function asked({ model, input, target, target_ids, masks, pad, interventions }) {
  const written = target_ids ? { target_ids } : target !== null ? { target } : {};
  const sentence = { model, ...(Object.keys(input).length > 1 ? { input } : input), ...written };
  const edits = interventions.length ? { interventions } : {};
  if (pad.hidden) return { ...sentence, masks, pad: { hidden: pad.hidden }, ...edits };
  if (!pad.count) return { ...sentence, masks: { causal: masks.causal, padding: true }, ...edits };
  return { ...sentence, masks, pad, ...edits };
}

/** The part of a request that says what is traced. @param {State} state */
export const requestOf = (state) => asked(runOf(state));

/** The run that a generation continues: it reads the sentence without its PADs. @param {Run} run @param {any} model */
const unpadded = (run, model) => withPads(run, { ...run.pad, count: 0 }, attentionsOf(model));

/**
 * The request that continues a run: its sentence, or its target, up to here.
 * @param {State} state @param {number[]} ids @param {any} model
 */
export function writingRequest(state, ids, model) {
  const written = writesTarget(model)
    ? { target_ids: ids }
    : { input: { token_ids: ids, ...aroundOf(state.addSpecial) }, target_ids: null };
  return asked(unpadded({ ...runOf(state), target: null, ...written }, model));
}

/**
 * The request that translates a sentence: without the reader's own target.
 * @param {State} state @param {any} model
 */
export const translationRequest = (state, model) =>
  asked(unpadded({ ...runOf(state), target: null, target_ids: null }, model));

/**
 * Keeps the target that the model wrote, so that all parts of a picture, and the run it is compared with, have the same.
 * @param {State} state @param {any} meta  of the overview
 */
export function withTarget(state, { target_tokens: tokens }) {
  if (!tokens || state.file !== null || state.targetIds) return state;
  return { ...state, target: null, targetIds: tokens.map((/** @type {{id: number}} */ { id }) => id) };
}

/** What tells sentences apart, whatever is changed in their run. @param {State} state */
export const sentenceKey = (state) => JSON.stringify([state.model, runOf(state).input]);

/** The key of the trace that `state` shows. @param {State} state */
export const keyOf = (state) => state.file ?? JSON.stringify(requestOf(state));

/** The taps of all heads' pictures. @param {any} model @returns {string[]} */
export const picturesOf = (model) => attentionsOf(model).flatMap((one) => one.roles[overviewOf(one) ?? ""]?.taps ?? []);

/** Every head as a picture, and the masks. @param {State} state @param {any} model */
export function overviewRequest(state, model) {
  const all = attentionsOf(model);
  const edited = maskEdited(state.interventions, all);
  const masked = all.filter((one) => has(one, "mask"));
  // All layers share the mask of the first, unless one of them is edited.
  const masks = masked.flatMap((one) => (edited.has(one) ? one.roles.mask.taps : [tapOf(one, 0, "mask")]));
  return { ...requestOf(state), want: [...picturesOf(model), ...masks], dtype: "uint8", pooled: true };
}

/** How many candidates a prediction lists. */
export const N_CANDIDATES = 20;

/** The request for the prediction after a position. @param {State} state @param {number} position */
export function predictionOf(state, position) {
  return { ...requestOf(state), want: [], predict: listed(state, [position]) };
}

/** How many tokens that could stand at a place are listed. */
const N_ALTERNATIVES = 5;

/** The request for what else could have stood after these rows: the model's own probabilities, without settings. @param {State} state @param {number[]} positions */
export function alternativesOf(state, positions) {
  return {
    ...requestOf(state),
    want: [],
    predict: { positions, n: N_ALTERNATIVES, temperature: 0, top_k: 1, top_p: 1 },
  };
}

/** Which predictions a trace lists. @param {State} state @param {number[]|null} positions  null: the last */
export function listed(state, positions) {
  return { positions, n: N_CANDIDATES, ...samplingOf(state) };
}

/** The sampling settings of a request; without those that change nothing. @param {State} state */
export function samplingOf({ temperature, topK: top_k, topP: top_p, minP: min_p, penalty, banned }) {
  return {
    temperature,
    top_k,
    top_p,
    ...(min_p > 0 && { min_p }),
    ...(penalty !== 1 && { repetition_penalty: penalty }),
    ...(banned.length && { banned }),
  };
}

/**
 * The row whose next token is shown, as far as it is known before the tokens are: null for the last, undefined if it is
 * not known.
 * @param {State} state @param {any} model @param {number} [length]  of the typed text, where it was read before
 * @returns {number[]|null|undefined}
 */
function rowsAhead({ query, row, ids, targetIds, padCount, attention }, model, length) {
  const writes = model?.description.writes;
  if (writes === "target" && targetIds) {
    const own = attentionOf(model, attention).queries === writes ? query : row;
    return own !== null && own < targetIds.length ? [own] : undefined;
  }
  if (writes !== "source") return undefined;
  if (query === null) return row === null ? null : undefined;
  const n = ids?.length ?? length;
  return n !== undefined && query < n + padCount ? [query] : undefined;
}

// One head in float32: its request, alone or within the overview's, and its matrices in an answer. No DOM.

/** In an answer, before the names of a detail's tensors, and of whole ones. */
const [DETAIL, WHOLE] = ["detail/", "whole/"];

/** Up to this many characters, ids or patches, the open head comes with the pictures: for a longer text they would come later. */
const SHORT = 400;

/** The roles of a detail. @param {Attention} attention */
const detailRoles = ({ roles }) =>
  Object.keys(roles).filter((role) => PROJECTED.has(role) || roles[role].dims === "head query key");
const PROJECTED = new Set(["q", "k", "v"]);

/** The names of the tensors of a detail. @param {Attention} attention @param {number} layer */
export const detailNames = (attention, layer) => detailRoles(attention).map((role) => tapOf(attention, layer, role));

/** @param {Attention} attention @param {string} role */
const roleDims = ({ roles }, role) => roles[role].dims.split(" ")[0];

/**
 * The index of a query head's matrix among the `count` of a tensor. Matrices may be shared: a mask by all heads, keys
 * and values by a group.
 * @param {number} head @param {number} count @param {Attention} attention @param {string} dim  "head" or "kv_head"
 * @param {number[]|null} asked  the query heads of the answer; null: all
 */
function placeOf(head, count, { n_head, n_kv_head }, dim, asked) {
  if (asked === null || count === 1) return Math.floor((head * count) / n_head);
  if (dim !== "kv_head") return asked.indexOf(head);
  /** @param {number} one */
  const shared = (one) => Math.floor((one * n_kv_head) / n_head);
  return [...new Set(asked.map(shared))].indexOf(shared(head));
}

/**
 * One head, from an answer that has only this head or all of them.
 * @param {Decoded} decoded @param {Attention} attention @param {number} layer @param {number} head
 * @returns {Detail}
 */
export function detailOf({ meta, tensors }, attention, layer, head) {
  /** @type {any} */
  const detail = { attention: attention.id, layer, head, causal: meta.masks.causal };
  for (const role of detailRoles(attention)) {
    const [count, rows, cols = 1] = tensors[tapOf(attention, layer, role)].shape; // a key of one number has no dimension for it
    const at = placeOf(head, count, attention, roleDims(attention, role), meta.heads ?? null) * rows * cols;
    detail[role] = {
      shape: [rows, cols],
      data: tensors[tapOf(attention, layer, role)].data.subarray(at, at + rows * cols),
    };
  }
  const overview = overviewOf(attention);
  if (overview) detail.overview = detail[overview];
  if (overview && !detail.mask)
    detail.mask = { shape: detail.overview.shape, data: new Uint8Array(detail.overview.data.length) };
  return detail;
}

/**
 * What the overview's request asks for in addition to the overview.
 * @param {State} state @param {any} model @param {boolean} opened  whether the open head is needed
 * @param {number} [length]  how many tokens the sentence has, if it was read before
 */
export function partsFor(state, model, opened, length) {
  const rows = rowsAhead(state, model, length);
  const next = rows === undefined ? {} : { predict: listed(state, rows) };
  if (!opened || !isShort(state, model)) return next;
  const { want, heads } = detailRequest(state, model);
  return want.length ? { ...next, detail: { want, heads } } : next;
}

/** Of how many numbers whole tensors may be that come with the pictures: larger ones would make these late. */
const WITH_PICTURES = 2 ** 19;

/**
 * Those tensors that come with the overview of a short text, in float32; none if all together are large.
 * @param {State} state @param {any} model @param {string[]} names
 */
export function wholeFor(state, model, names) {
  if (!names.length || !isShort(state, model)) return [];
  const n = (state.ids ?? state.text).length + state.padCount + (state.targetIds ?? state.target ?? "").length;
  const numbers = names.map((name) => numbersOf(model, name, n));
  return numbers.reduce((sum, one) => sum + one, 0) <= WITH_PICTURES ? names : [];
}

/**
 * How many numbers a tensor has in a text of at most `n` tokens. Infinity: not known.
 * @param {any} model @param {string} name @param {number} n
 */
function numbersOf(model, name, n) {
  const part = partOf(model, name);
  if (!part) return isInStack(model, name) ? n * widestOf(model) : Infinity;
  const { attention, role } = part;
  const { n_head: head, n_kv_head: kv_head, d_head } = attention;
  /** @type {Record<string, number>} */
  const known = { head, kv_head, d_head, position: n, query: n, key: n };
  const dims = attention.roles[role].dims.split(" ");
  return dims.reduce(
    (/** @type {number} */ product, /** @type {string} */ dim) => product * (known[dim] ?? model.description.d_model),
    1,
  );
}

/** @param {State} state @param {any} model */
const isShort = ({ text, ids, pixels, padCount }, { max_seq_len: longest }) =>
  (pixels ? longest : (ids ?? text).length) + padCount <= SHORT;

/** The request for the open head alone, in float32. @param {State} state @param {any} model */
export function detailRequest(state, model) {
  const attention = attentionOf(model, state.attention);
  const want = detailNames(attention, state.layer);
  return { ...requestOf(state), want, heads: [state.head], dtype: "float32" };
}

/** The open head, from an answer to that request. @param {State} state @param {any} model @param {Decoded} answer @returns {Detail} */
export const openOf = ({ attention, layer, head }, model, answer) =>
  detailOf(answer, attentionOf(model, attention), layer, head);

/**
 * An answer in its parts. The open head and whole tensors get their own memory: they are kept longer than the pictures.
 * @param {Decoded} answer @returns {{overview: Decoded, detail: Decoded|null, whole: Decoded["tensors"], predictions: any[]}}
 */
export function splitAnswer(answer) {
  const { meta, tensors } = answer;
  const predictions = meta.predictions ?? [];
  const all = Object.entries(tensors);
  const pictures = all.filter(([name]) => !name.startsWith(DETAIL) && !name.startsWith(WHOLE));
  if (pictures.length === all.length && !meta.detail) return { overview: answer, detail: null, whole: {}, predictions };
  /** @param {string} prefix @returns {Record<string, any>} */
  const partOfAnswer = (prefix) =>
    Object.fromEntries(
      all
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, one]) => [name.slice(prefix.length), { ...one, data: one.data.slice() }]),
    );
  return {
    overview: { ...answer, tensors: Object.fromEntries(pictures) },
    detail: meta.detail ? { meta: { ...meta, heads: meta.detail.heads }, tensors: partOfAnswer(DETAIL) } : null,
    whole: partOfAnswer(WHOLE),
    predictions,
  };
}
