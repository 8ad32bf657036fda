/**
 * Edits of the formula itself: an attention or an FFN off, positions off, √d off, the temperature of the softmax, a window, LayerNorm frozen. Which of
 * them a model offers follows from its description. No DOM.
 */

import { attentionOf, attentionsOf, has, identityOf, stacksOf } from "./description.js";
import { editsOf, toggledBy, withEdits } from "./edits.js";

/**
 * @import { Intervention } from "../state/run.js"
 * @import { State } from "../state/store.js"
 * @import { Attention, Model } from "./description.js"
 * @import { Edited } from "./edits.js"
 */

/**
 * @typedef {{attention: string, layer: number, part: "attention"|"ffn"}} Part  what adds to the residual stream in a layer; of an FFN,
 *   `attention` is one of its stack
 * @typedef {"no_positions"|"freeze_norms"} OfModel
 * @typedef {{attention: string, layer: number|null, head?: number}} OfScores  where the scores are changed; a layer of null: in all
 */

// An attention or an FFN that is off: what it writes to the stream is 0.

/** What an attention writes, and what an FFN writes. */
const WRITES = { attention: "attn_out", ffn: "out" };

/** @param {Part} part @returns {Intervention} */
const offOf = ({ attention, layer, part }) => ({ kind: "ablate", where: { attention, layer, role: WRITES[part] } });

/** The part that an intervention switches off; null: none. @param {Intervention} one @param {Attention[]} attentions @returns {Part|null} */
export function partOff(one, attentions) {
  return one.to === "mean" ? null : partWritten(one, attentions);
}

/** The part whose output an intervention replaces, whatever by. @param {Intervention} one @param {Attention[]} attentions @returns {Part|null} */
export function partWritten({ kind, where }, attentions) {
  const { attention, layer, role, head } = where;
  const part = role === WRITES.attention ? "attention" : role === WRITES.ffn ? "ffn" : null;
  if (kind !== "ablate" || !part || !Number.isInteger(layer) || Number.isInteger(head)) return null;
  return { attention: attention ?? attentions[0]?.id, layer, part };
}

/** What identifies a part: an FFN by its stack. @param {Part} part @param {Attention[]} attentions */
function partKey({ attention, layer, part }, attentions) {
  const of = part === "ffn" ? attentions.find(({ id }) => id === attention)?.stack : attention;
  return `${part} ${of} ${layer}`;
}

/** @param {Intervention} one @param {Part} part @param {Attention[]} attentions */
function switchesOff(one, part, attentions) {
  const off = partOff(one, attentions);
  return off !== null && partKey(off, attentions) === partKey(part, attentions);
}

/** Whether a part is off. @param {Pick<State, "interventions">} state @param {Part} part @param {Attention[]} attentions */
export const isPartOff = ({ interventions }, part, attentions) =>
  interventions.some((one) => switchesOff(one, part, attentions));

/** A part off, or on again. @param {Edited} state @param {Part} part @param {Attention[]} attentions */
export const partToggled = (state, part, attentions) =>
  toggledBy(state, ({ edit }) => switchesOff(edit, part, attentions), offOf(part));

/** The open layer's attention, or its FFN. @param {State} state @param {Model} model @param {Part["part"]} part @returns {Part} */
export function partAt(state, model, part) {
  const { id, stack } = attentionOf(model, state.attention);
  const first = attentionsOf(model).find((one) => one.stack === stack)?.id ?? id;
  return { attention: part === "ffn" ? first : id, layer: state.layer, part };
}

// What takes its place: zero, or its mean over the windows that the model stores.

/** Whether an edit is an ablation of one part, of which a mean can be taken. @param {Intervention} edit */
export function canMean({ kind, where }) {
  const role = where.role ?? "z";
  const isPart = role === "z" ? Number.isInteger(where.head) : Object.values(WRITES).includes(role);
  return kind === "ablate" && isPart;
}

/** Whether its part has a stored mean. @param {Intervention} edit @param {any} model  of /api/models */
export const hasMean = (edit, model) => Boolean(model.means) && !edit.over && canMean(edit);

/** @param {Edited} state @param {number[]} at @param {"zero"|"mean"} by */
export function replacedBy(state, at, by) {
  const changed = editsOf(state).map((one, i) => {
    if (!at.includes(i)) return one;
    const { to: _, over: __, ...edit } = one.edit;
    return { ...one, edit: by === "mean" ? { ...edit, to: by } : edit };
  });
  return withEdits(/** @type {any} */ (changed));
}

/** The mean over these sentences in its place; none: zero. @param {Edited} state @param {number[]} at @param {string[]} sentences */
export function meanOver(state, at, sentences) {
  if (!sentences.length) return replacedBy(state, at, "zero");
  const edits = editsOf(replacedBy(state, at, "mean"));
  return withEdits(edits.map((one, i) => (at.includes(i) ? { ...one, edit: { ...one.edit, over: sentences } } : one)));
}

// Of the whole model: positions off, LayerNorm frozen.

/** @param {Pick<State, "interventions">} state @param {OfModel} kind */
export const isMade = ({ interventions }, kind) => interventions.some((one) => one.kind === kind);

/** @param {Edited} state @param {OfModel} kind */
export const madeOrUndone = (state, kind) => toggledBy(state, ({ edit }) => edit.kind === kind, { kind, where: {} });

/**
 * Why a model cannot do without its positions, as the end of a key of the catalogue; null: it can.
 * @param {Model} model
 */
export function positionsFixed(model) {
  const inScores = (/** @type {Attention} */ { roles, parts = {} }) =>
    "q_rotated" in roles ||
    "position_bias" in roles ||
    Object.values(parts).some((of) => of.some((role) => !role.startsWith("content_")));
  const added = stacksOf(model).some(({ embedding }) => embedding.positions !== "none" && embedding.roles.positional);
  if (added || attentionsOf(model).some(inScores)) return null;
  return attentionsOf(model).some(({ parameters }) => "decay" in parameters) ? "decay" : "none";
}

/** Whether it has a LayerNorm, or an RMSNorm. @param {Model} model */
export const hasNorms = (model) =>
  stacksOf(model).some(
    ({ layers, final_norm: last, embedding }) =>
      last || embedding.norm || layers.some(({ sublayers }) => sublayers.some(({ norm }) => norm)),
  );

// Of the scores: without 1/√d, or divided by a temperature.

/** Whether its scores are divided by √d_head, or another number. @param {Attention} attention */
export const dividesScores = (attention) =>
  Boolean(attention.scale) &&
  attention.scale !== 1 &&
  attention.identities.some(({ op }) => op === "scaled_product" || op === "scaled_row_product");

/** Whether its weights are a softmax of scores. @param {Attention} attention */
export const hasTemperature = (attention) =>
  has(attention, "scores") && identityOf(attention, "pattern")?.op === "masked_softmax";

/** @param {Intervention} one @param {string} kind @param {OfScores} at @param {Attention[]} attentions */
const isAt = (one, kind, { attention, layer, head }, attentions) =>
  one.kind === kind &&
  (one.where.attention ?? attentions[0]?.id) === attention &&
  one.where.layer === layer &&
  (one.where.head ?? null) === (head ?? null);

/** @param {Pick<State, "interventions">} state @param {OfScores} at @param {Attention[]} attentions */
export const isUnscaled = ({ interventions }, at, attentions) =>
  interventions.some((one) => isAt(one, "no_scale", at, attentions));

/** @param {Edited} state @param {OfScores} at @param {Attention[]} attentions */
export const scaleToggled = (state, at, attentions) =>
  toggledBy(state, ({ edit }) => isAt(edit, "no_scale", at, attentions), { kind: "no_scale", where: { ...at } });

/** The temperature that is set exactly there; 1: none. @param {Pick<State, "interventions">} state @param {OfScores} at @param {Attention[]} attentions @returns {number} */
export const temperatureAt = ({ interventions }, at, attentions) =>
  interventions.find((one) => isAt(one, "temperature", at, attentions))?.temperature ?? 1;

/** @param {Edited} state @param {OfScores} at @param {number} temperature @param {Attention[]} attentions */
export const withTemperature = (state, at, temperature, attentions) =>
  withOne(state, temperature === 1 ? null : { temperature }, { kind: "temperature", at }, attentions);

/** Whether a window can limit what its tokens see: its queries and keys are the same text, and it has a mask. @param {Attention} attention */
export const hasWindow = (attention) => attention.queries === attention.keys && has(attention, "mask");

/** The window that is set exactly there, in tokens; null: none. @param {Pick<State, "interventions">} state @param {OfScores} at @param {Attention[]} attentions @returns {number|null} */
export const windowAt = ({ interventions }, at, attentions) =>
  interventions.find((one) => isAt(one, "window", at, attentions))?.size ?? null;

/** @param {Edited} state @param {OfScores} at @param {number|null} size  null: no window @param {Attention[]} attentions */
export const withWindow = (state, at, size, attentions) =>
  withOne(state, size === null ? null : { size }, { kind: "window", at }, attentions);

/** With one edit of a kind at a place, in the place of an earlier one, or none. @param {Edited} state @param {object|null} value @param {{kind: string, at: OfScores}} of @param {Attention[]} attentions */
function withOne(state, value, { kind, at }, attentions) {
  const edits = editsOf(state);
  const edit = { kind, where: { ...at }, ...value };
  const place = edits.findIndex((one) => isAt(one.edit, kind, at, attentions));
  if (place < 0) return withEdits(value ? [...edits, { edit, on: true }] : edits);
  return withEdits(edits.flatMap((one, i) => (i !== place ? one : value ? { edit, on: true } : [])));
}

/**
 * How a run changes a head's scores: whether they are divided by √d, and by which temperature.
 * @param {Intervention[]} interventions @param {Attention} attention @param {Attention[]} attentions @param {{layer: number, head: number}} at
 */
export function scoresIn(interventions, attention, attentions, { layer, head }) {
  const here = interventions.filter(
    ({ where }) =>
      (where.attention ?? attentions[0]?.id) === attention.id &&
      (where.layer ?? layer) === layer &&
      (where.head ?? head) === head,
  );
  const heats = here.filter(({ kind }) => kind === "temperature").map((one) => one.temperature);
  return {
    scaled: !here.some(({ kind }) => kind === "no_scale"),
    temperature: heats.reduce((product, one) => product * one, 1),
  };
}
