/**
 * A run as a value: the same JSON in the API, a saved trace and a link. The state holds its fields flat, so that a
 * control can change one of them without knowing the others.
 *
 * @typedef {Object<string, any>} Intervention  {kind, where: {attention?, layer, role, head?, query?, key?}, …}
 * @typedef {Object} Run
 * @property {string|null} model  null: the server's default
 * @property {{text: string, special?: true, add_special_tokens?: false, pair?: string}|{token_ids: number[], token_type_ids?: number[], add_special_tokens?: false}|{pixels: Pixels}} input
 *   pair: a second text that is read with the first; pixels: a picture
 * @property {string|null} target  an encoder-decoder's, as text; null with `target_ids` null: what the model writes greedily
 * @property {number[]|null} target_ids
 * @property {{causal: boolean|null, padding: boolean}} masks  causal null: as the model was trained
 * @property {{count: number, side: "left"|"right", follow: boolean, hidden?: number[]}} pad  hidden: the positions of hidden patches
 * @property {Intervention[]} interventions  applied in this order
 *
 * @typedef {Pick<State, "model"|"text"|"special"|"addSpecial"|"pair"|"ids"|"tokenTypes"|"target"|"targetIds"|"causal"|"padCount"|"padSide"|"padMask"|
 *   "padFollow"|"interventions"|"pixels"|"hidden">} RunState
 */

/**
 * @import { Pixels } from "../model/patches.js"
 * @import { State } from "./store.js"
 */

/** The largest number of PADs that the page adds. */
export const MOST_PADS = 8;

/** @type {RunState} */
export const RUN_DEFAULTS = Object.freeze({
  model: null,
  text: "",
  special: false,
  addSpecial: true,
  pair: null,
  ids: null,
  tokenTypes: null,
  pixels: null,
  target: null,
  targetIds: null,
  causal: null,
  padCount: 0,
  padSide: "left",
  padMask: true,
  padFollow: true,
  hidden: [],
  interventions: [],
});

/** @param {RunState} state @returns {Run} */
export function runOf({
  model,
  text,
  special,
  addSpecial,
  pair,
  ids,
  tokenTypes,
  pixels,
  target,
  targetIds,
  causal,
  padCount,
  padSide,
  padMask,
  padFollow,
  hidden,
  interventions,
}) {
  return {
    model,
    input: pixels ? { pixels } : { ...sentenceOf({ text, special, pair, ids, tokenTypes }), ...aroundOf(addSpecial) },
    target: targetIds ? null : target,
    target_ids: targetIds,
    masks: { causal, padding: padMask },
    pad: { count: padCount, side: padSide, follow: padFollow, ...(hidden.length > 0 && { hidden }) },
    interventions,
  };
}

/** @param {Pick<RunState, "text"|"special"|"pair"|"ids"|"tokenTypes">} state @returns {{text: string, special?: true, pair?: string}|{token_ids: number[], token_type_ids?: number[]}} */
function sentenceOf({ text, special, pair, ids, tokenTypes }) {
  if (ids) return { token_ids: ids, ...(tokenTypes?.length === ids.length && { token_type_ids: tokenTypes }) };
  return { text, ...(special && { special }), ...(isText(pair) && { pair }) };
}

/** What is said of the tokens around a sentence: nothing if they are added, as usual. @param {boolean} addSpecial @returns {{add_special_tokens?: false}} */
export const aroundOf = (addSpecial) => (addSpecial === false ? { add_special_tokens: false } : {});

/**
 * The change that opens `run`. A run may come from a link or a file: missing and invalid fields get their defaults.
 * @param {any} run @returns {RunState}
 */
export function stateOf(run) {
  const { model, input, target, target_ids: targetIds, masks, pad, interventions } = run ?? {};
  return {
    model: isText(model) ? model : null,
    text: isText(input?.text) ? input.text : "",
    special: isText(input?.text) && input.special === true,
    addSpecial: input?.add_special_tokens !== false,
    pair: isText(input?.text) && isText(input.pair) ? input.pair : null,
    ids: isIds(input?.token_ids) && input.token_ids.length ? input.token_ids : null,
    tokenTypes: isIds(input?.token_ids) && isIds(input.token_type_ids) ? input.token_type_ids : null,
    pixels: isPixels(input?.pixels) ? input.pixels : null,
    target: isText(target) && !isIds(targetIds) ? target : null,
    targetIds: isIds(targetIds) && targetIds.length ? targetIds : null,
    causal: isBoolean(masks?.causal) ? masks.causal : null,
    padCount: isIndex(pad?.count) && pad.count <= MOST_PADS ? pad.count : 0,
    padSide: pad?.side === "right" ? "right" : "left",
    padMask: isBoolean(masks?.padding) ? masks.padding : true,
    padFollow: isBoolean(pad?.follow) ? pad.follow : true,
    hidden: isIds(pad?.hidden) ? pad.hidden : [],
    interventions: Array.isArray(interventions) ? interventions.filter(isIntervention) : [],
  };
}

/**
 * The run without default values: {} if nothing differs from them.
 * @param {Run} run @returns {Partial<Run>}
 */
export function shortRun(run) {
  return /** @type {any} */ (without(run, runOf(RUN_DEFAULTS)));
}

/**
 * Run B from run A: the patch replaces fields of A. An input is replaced whole.
 * @param {Run} run @param {Object<string, any>} patch @returns {Run}
 */
export function patched(run, patch) {
  const input = isObject(patch.input) ? patch.input : run.input;
  const target = "target" in patch && !("target_ids" in patch) ? { target_ids: null } : {};
  return { ...laidOver(run, { ...target, ...patch }), input };
}

/** The patch that makes `to` of `from`: what differs. @param {Run} from @param {Run} to @returns {Object<string, any>} */
export const patchBetween = (from, to) => without(to, from);

/** @param {any} value @param {any} patch @returns {any} */
function laidOver(value, patch) {
  if (!isObject(value) || !isObject(patch)) return patch;
  const fields = Object.entries(patch).map(([name, own]) => [name, laidOver(value[name], own)]);
  return { ...value, ...Object.fromEntries(fields) };
}

/** Whether a run is only a model and a text. @param {Run} run */
export const isPlain = (run) => Object.keys(shortRun({ ...run, model: null, input: emptied(run.input) })).length === 0;

/** @param {Run["input"]} input */
const emptied = (input) => ("text" in input ? { ...input, text: "" } : input);

/** @param {any} value @param {any} initial @returns {any} */
function without(value, initial) {
  /** @type {Object<string, any>} */
  const left = {};
  for (const [name, own] of Object.entries(value)) {
    const known = initial?.[name];
    if (JSON.stringify(own) === JSON.stringify(known)) continue;
    left[name] = isObject(own) && isObject(known) ? without(own, known) : own;
  }
  return left;
}

/** @param {any} value */
const isText = (value) => typeof value === "string";
/** @param {any} value */
const isBoolean = (value) => typeof value === "boolean";
/** @param {any} value */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
/** @param {any} value */
const isIndex = (value) => Number.isInteger(value) && value >= 0 && value < 1e9;
/** @param {any} value */
const isIds = (value) => Array.isArray(value) && value.every(isIndex);
/** @param {any} value */
const isPixels = (value) =>
  (isText(value) && value !== "") || (Array.isArray(value) && value.length > 0 && value.every(isIds));
/** @param {any} value @returns {value is Intervention} */
export const isIntervention = (value) => isObject(value) && isText(value.kind) && isObject(value.where);
