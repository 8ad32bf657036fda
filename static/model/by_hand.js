/** One activation of another sentence, put into this one by hand: what it may be, which rows correspond, and the edit that it makes; and another sentence for it. No DOM. */

import { runOf, shortRun } from "../state/run.js";
import { attentionOf, has, stackOf } from "./description.js";
import { editsOf, toggledBy } from "./edits.js";
import { namesIn } from "./labels.js";
import { rowOf } from "./selection.js";
import { JAPANESE } from "./token_groups.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Intervention } from "../state/run.js"
 * @import { State } from "../state/store.js"
 * @import { Attention, Model } from "./description.js"
 * @import { Edited } from "./edits.js"
 * @import { Token } from "./labels.js"
 */

/** The stream before the open layer, what its attention or FFN adds, or the open head's own. @typedef {"stream"|"attention"|"ffn"|"z"|"q"|"k"|"v"} What */

const ROLES = { stream: "stream", attention: "attn_out", ffn: "out" };
/** @param {What} what */
const roleOf = (what) => ROLES[/** @type {keyof typeof ROLES} */ (what)] ?? what;

/** Whether it is one head's alone. @param {What} what */
export const isOfHead = (what) => !(what in ROLES);

/** Whether an attention has it, head by head or for each position. @param {Model} model @param {Attention} attention @param {What} what */
export function canPut(model, attention, what) {
  if (what === "stream") return true;
  if (what === "ffn")
    return stackOf(model, attention).layers.some(({ sublayers }) => sublayers.some(({ kind }) => kind === "ffn"));
  if (!has(attention, roleOf(what))) return false;
  return !isOfHead(what) || ownHeads(attention).includes(attention.roles[what].dims.split(" ")[0]);
}

/** The dimensions that count its query heads: also those of k and v, unless several query heads share them. @param {Attention} attention */
const ownHeads = ({ n_head, n_kv_head }) => (n_kv_head === n_head ? ["head", "kv_head"] : ["head"]);

/** The side whose tokens are its rows. @param {Attention} attention @param {What} what */
export const sideOfRows = (attention, what) => (isByKey(attention, what) ? attention.keys : attention.queries);

/** @param {Attention} attention @param {What} what */
const isByKey = (attention, what) => isOfHead(what) && attention.roles[what]?.rows === "key";

/**
 * The edit: `row` of this run gets row `theirs` of the other one; null: every row its own.
 * @param {State} state @param {Model} model @param {{what: What, source: string, row: number|null, theirs: number|null}} put
 * @returns {Intervention}
 */
export function putByHand(state, model, { what, source, row, theirs }) {
  const attention = attentionOf(model, state.attention);
  const rows = isByKey(attention, what) ? "key" : "query";
  const where = {
    ...{ attention: attention.id, layer: state.layer, role: roleOf(what) },
    ...(isOfHead(what) && { head: state.head }),
    ...(row !== null && { [rows]: row }),
    ...(row !== null && theirs !== row && { from_row: theirs }),
  };
  const other = { ...state, model: null, text: source, ids: null, pixels: null, interventions: [] };
  const from = { input: { text: source }, ...shortRun(runOf(other)) };
  return { kind: "patch", where, from };
}

/** The change that makes the edit, or takes it back. @param {Edited} state @param {Intervention} made */
export function putOrTaken(state, made) {
  const text = JSON.stringify(made);
  return toggledBy(state, ({ edit }) => JSON.stringify(edit) === text, made);
}

/** The rows that are put in from this sentence: pairs of theirs and ours. @param {Edited} state @param {string} source @returns {[number, number][]} */
export const pairsPut = (state, source) =>
  editsOf(state).flatMap(({ edit: { kind, where, from }, on }) => {
    const row = where.query ?? where.key ?? null;
    if (!on || kind !== "patch" || row === null || (from.input?.text ?? from.text) !== source) return [];
    return [/** @type {[number, number]} */ ([where.from_row ?? row, row])];
  });

/**
 * Which tokens correspond: those before the first and after the last that differ, and those between if they are as many.
 * @param {number[]} here  ids @param {number[]} there @returns {(number|null)[]} for each of theirs, ours
 */
export function correspond(here, there) {
  const most = Math.min(here.length, there.length);
  let [before, after] = [0, 0];
  while (before < most && here[before] === there[before]) before++;
  while (after < most - before && here[here.length - 1 - after] === there[there.length - 1 - after]) after++;
  const shift = here.length - there.length;
  return there.map((_, i) => {
    if (i < before || shift === 0) return i;
    return i >= there.length - after ? i + shift : null;
  });
}

/**
 * Whether a row has the same numbers in both runs, because a causal model has read the same up to there.
 * @param {number[]} here @param {number[]} there @param {{causal: boolean, row: number, theirs: number}} of
 */
export const changesNothing = (here, there, { causal, row, theirs }) =>
  causal && row === theirs && here.slice(0, row + 1).join() === there.slice(0, row + 1).join();

/**
 * A second sentence that the model answers otherwise: the next best answer, before the edits, in the place of the answer, where the sentence has it.
 * @param {ModelTrace} trace @param {State} state
 */
export function otherSentence(trace, state) {
  const { text, written, model } = trace;
  const { predictions } = trace.asTrained ?? trace.withoutKnockouts ?? trace;
  const row = written ? rowOf(state, trace) : null;
  const [first, second] = row === null || model.picture ? [] : (predictions[row]?.candidates ?? []);
  const [here, there] = [first?.text.trim(), second?.text.trim()];
  if (!here || !there) return null;
  const other = withWord(text, here, there);
  return other === text ? null : { here, there, text: other };
}

/**
 * A second sentence with the nearest neighbour of the chosen token's embedding where that token stood first, if it stood before. What heads
 * that look for the same token (their q and k) do is seen in it; `here` is the name of what goes.
 * @param {ModelTrace} trace @param {State} state
 */
export function otherRepeat(trace, state) {
  const { text, written, explained, model } = trace;
  const row = written && !model.picture ? rowOf(state, trace) : null;
  const { id, ids = [], tokens = {} } = /** @type {any} */ (explained.neighbours ?? {});
  if (!written || row === null || written.tokens[row]?.id !== id) return null;
  const [word, there] = [id, ids[0]].map((one) => tokens[one]?.text.trim());
  const isWord = /^\p{L}+$/u.test(word ?? "") && /^\p{L}+$/u.test(there ?? "");
  if (!isWord || JAPANESE.test(word)) return null;
  const characters = [...text]; // tokens count code points
  const isWhole = (/** @type {Token} */ { start, end }) => {
    const [own, after] = [characters.slice(start, end), characters[end] ?? ""];
    const goesOn = LETTER.test(characters[start - 1] ?? "") && LETTER.test(own[0] ?? "");
    return own.join("").trim() === word && !goesOn && !LETTER.test(after);
  };
  const first = written.tokens.findIndex((one, at) => at < row && one.id === id && isWhole(one));
  if (first < 0) return null;
  const { start, end } = written.tokens[first];
  const [before, own, after] = [[0, start], [start, end], [end]].map((part) => characters.slice(...part).join(""));
  return { here: namesIn(written.tokens)[first], there, text: before + own.replace(word, there) + after };
}

const LETTER = /[\p{L}\p{N}]/u;

/** A text with another word in the place of a word, which "car" is not in "scar"; Japanese has no spaces to tell. @param {string} text @param {string} here @param {string} there */
const withWord = (text, here, there) =>
  /^[\p{L}\p{N}]+$/u.test(here) && !JAPANESE.test(here)
    ? text.replace(/[\p{L}\p{N}]+/gu, (word) => (word === here ? there : word))
    : text.replaceAll(here, there);
