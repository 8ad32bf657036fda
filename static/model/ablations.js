/** What each head and each FFN does for an answer, measured by switching it off: as maps of layers × heads, and in order. No DOM. */

import { attentionsOf, stacksOf } from "./description.js";
import { headKey } from "./edits.js";

/**
 * @import { Ablation } from "../data/streams.js"
 * @import { Model } from "./description.js"
 */

/** How a change of the prediction is measured: of the answer's log-probability, or of all answers. @typedef {"delta"|"kl"} Measure */

/** @typedef {Exclude<Ablation, {kind: "edge"}>} Part  a head or an FFN */

/**
 * @typedef {Object} EffectMap  layers × heads of one attention; the last attention of a stack also has a column for its FFNs
 * @property {string} attention
 * @property {string|null} ffnOf  the stack whose FFNs are in the last column
 * @property {[number, number]} shape
 * @property {(Part|undefined)[]} parts  row after row; undefined: not measured yet
 */

/** The maps of a model, one for each of its attentions. @param {Model} model @param {Ablation[]} found @returns {EffectMap[]} */
export function effectMaps(model, found) {
  const known = new Map(found.flatMap((one) => (one.kind === "edge" ? [] : [[keyOfPart(one), one]])));
  const attentions = attentionsOf(model);
  return attentions.map(({ id: attention, stack, n_layer, n_head }) => {
    const isLast = attentions.findLast((one) => one.stack === stack)?.id === attention;
    const { layers } = /** @type {any} */ (stacksOf(model).find(({ id }) => id === stack));
    const hasFfns = layers.some((/** @type {any} */ { sublayers }) =>
      sublayers.some((/** @type {any} */ { kind }) => kind === "ffn"),
    );
    const ffnOf = isLast && hasFfns ? stack : null;
    const cols = n_head + (ffnOf ? 1 : 0);
    const parts = Array.from({ length: n_layer * cols }, (_, at) => {
      const [layer, head] = [Math.floor(at / cols), at % cols];
      return known.get(head < n_head ? headKey({ attention, layer, head }) : `ffn ${stack} ${layer}`);
    });
    return { attention, ffnOf, shape: [n_layer, cols], parts };
  });
}

/** A bar is full at the largest effect, |Δ ln p|, and at no less than this, about 2 % of the answer's probability: small effects look small. */
const FULL = 0.02;

/**
 * How much each head's picture says about the answer.
 * @param {Ablation[]} found @returns {Map<string, {delta: number, share: number}>} by head; `share`: of a full bar, in [0, 1]
 */
export function headEffects(found) {
  const heads = found.flatMap((one) => (one.kind === "head" ? [one] : []));
  const most = Math.max(...heads.map(({ delta }) => Math.abs(delta)), FULL);
  return new Map(heads.map((one) => [headKey(one), { delta: one.delta, share: Math.abs(one.delta) / most }]));
}

/** @param {Part} one */
const keyOfPart = (one) => (one.kind === "ffn" ? `ffn ${one.stack} ${one.layer}` : headKey(one));

/**
 * The heads without which the answer falls most; by KL, those that change the prediction most. Heads without an effect are left out.
 * @param {Ablation[]} found @param {Measure} by @param {number} n
 */
export function mostNeeded(found, by, n) {
  const loss = (/** @type {Ablation} */ one) => (by === "kl" ? one.kl : -one.delta);
  const heads = found.flatMap((one) => (one.kind === "head" && loss(one) > 0 ? [one] : []));
  return heads.sort((a, b) => loss(b) - loss(a)).slice(0, n);
}

/** Of the rows of a list, so many stay for heads that are on. */
const FOR_ON = 2;

/**
 * A list of the heads that are needed, and below them of those that are off: a head is switched on where it was switched off.
 * @template {import("./edits.js").Head} One @param {One[]} needed  in order @param {One[]} off @param {number} most  rows @returns {One[]}
 */
export function ranked(needed, off, most) {
  const keys = new Set(off.map(headKey));
  const below = off.slice(0, most - FOR_ON);
  return [...needed.filter((one) => !keys.has(headKey(one))).slice(0, most - below.length), ...below];
}

/**
 * The same rows, where those that are off and had one keep it.
 * @param {string[]} rows  as they were @param {string[]} best  as ranked @param {Set<string>} off @returns {string[]}
 */
export function keepingRows(rows, best, off) {
  const stay = rows.map((key) => (off.has(key) && best.includes(key) ? key : null));
  const others = best.filter((key) => !stay.includes(key));
  return [...stay.map((key) => key ?? others.shift()), ...others].flatMap((key) => key ?? []);
}
