/** The token rows of a trace: the sentence that is read, and what an encoder-decoder writes. No DOM. */

/**
 * @typedef {Object} Side  one of the two token rows of a trace; the same object for the same answer
 * @property {"source"|"target"} side
 * @property {Token[]} tokens  PADs, [CLS] and START included
 * @property {{start: number, end: number}} real  its own tokens; the rest is PAD
 * @property {number[]} positionIds
 * @property {number[]} hidden  the positions of hidden patches
 * @property {number|null} second  where the second of two texts begins; null: it is one text
 * @property {number[]|null} tokenTypes  of each token, where the model tells two texts apart
 */

import { memo } from "./memo.js";
import { asPatches } from "./patches.js";

/** @import { Token } from "./labels.js" */

/** Both token rows of an answer: the same objects for the same metadata. @type {(meta: any) => {source: Side, target: Side|null}} */
export const sidesOf = memo((meta) => {
  const { position_ids: positionIds, target_tokens: written, target_position_ids: places } = meta;
  const tokens = asPatches(meta.tokens, meta.config?.picture, meta.run?.input?.pixels);
  const { count, side } = meta.pad ?? { count: 0, side: "left" };
  const real = side === "left" ? { start: count, end: tokens.length } : { start: 0, end: tokens.length - count };
  const positions = places ?? written?.map((/** @type {unknown} */ _, /** @type {number} */ i) => i);
  const hidden = meta.pad?.hidden ?? [];
  const target = written && {
    side: /** @type {const} */ ("target"),
    tokens: written,
    real: { start: 0, end: written.length },
    positionIds: positions,
    hidden: [],
    second: null,
    tokenTypes: null,
  };
  const { second = null, token_type_ids: tokenTypes = null } = meta;
  return {
    source: { side: /** @type {const} */ ("source"), tokens, real, positionIds, hidden, second, tokenTypes },
    target: target ?? null,
  };
});

/**
 * The token after a row, as the sentence has it; null at its end, and where a PAD is next. The run says which
 * places are PADs: their tokens have other names and ids in other models, and some models share the id with END.
 * @param {Side} side @param {number} row
 */
export function actualNext({ tokens, real }, row) {
  return inside(real, row + 1) ? tokens[row + 1] : null;
}

/** @param {{source: Side, target: Side|null}} sides @param {"source"|"target"} name @returns {Side} */
export const sideOf = (sides, name) => (name === "target" && sides.target) || sides.source;

/** Whether a token is the sentence's own, not a PAD. @param {{start: number, end: number}} real @param {number} index */
export function inside({ start, end }, index) {
  return index >= start && index < end;
}
