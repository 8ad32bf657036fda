/** What the page needs to know about interventions: whose masks they change, and which tokens their indices name. No DOM. */

import { runOf, stateOf } from "../state/run.js";
import { startOf } from "./compare/compare.js";

/**
 * @import { Intervention, Run } from "../state/run.js"
 * @import { Attention } from "./description.js"
 */

/** The attention that an intervention names, by default the first. @param {Intervention} one @param {Attention[]} attentions */
export const attentionNamed = ({ where }, attentions) =>
  attentions.find(({ id }) => id === (where.attention ?? attentions[0]?.id));

/**
 * The attentions whose mask is edited: their layers do not all have the same mask.
 * @param {Intervention[]} interventions @param {Attention[]} attentions
 */
export const maskEdited = (interventions, attentions) =>
  new Set(interventions.filter(({ kind }) => kind === "mask").map((one) => attentionNamed(one, attentions)));

/**
 * A run with other PADs, with its interventions on the same tokens. An intervention at a removed PAD is left out, and one
 * that would allow an added PAD.
 * @template {Pick<Run, "input"|"pad"|"interventions">} R
 * @param {R} run @param {Run["pad"]} pad @param {Attention[]} attentions  of the model
 * @returns {R}
 */
export function withPads(run, pad, attentions) {
  const [from, to] = [startOf(run, "source"), startOf({ pad }, "source")];
  const firstPad = firstPadOf(run);
  /** @param {number} index @returns {number|null} */
  const move = (index) => {
    const nth = index - firstPad;
    if (nth < 0 || nth >= run.pad.count) return index - from + to;
    return pad.side === run.pad.side && nth < pad.count ? index : null;
  };
  const moved = run.interventions.map((one) => movedOne(one, { run, pad, attentions, move }));
  return { ...run, pad, interventions: moved.filter((one) => one !== null) };
}

/**
 * @param {Intervention} one
 * @param {{run: Pick<Run, "pad">, pad: Run["pad"], attentions: Attention[], move: (index: number) => number|null}} by
 * @returns {Intervention|null}
 */
function movedOne(one, { run, pad, attentions, move }) {
  const attention = attentionNamed(one, attentions);
  if (!attention) return one; // the server says what is wrong
  if (allowsAny(one) && attention.keys === "source" && pad.count > run.pad.count) return null;
  const where = { ...one.where };
  for (const [name, side] of [
    ["query", attention.queries],
    ["key", attention.keys],
  ]) {
    if (side === "source" && Number.isInteger(where[name])) where[name] = move(where[name]);
    if (where[name] === null && one.where[name] !== null) return null;
  }
  if (!one.from) return { ...one, where };
  const other = runOf(stateOf(one.from)); // also where it leaves fields out
  const isMoved = where.query !== one.where.query || where.key !== one.where.key;
  if (!hasPads(other, run.pad)) return isMoved ? null : one; // row t of it replaces row t here
  const { count, side } = pad;
  const there = withPads(other, { ...other.pad, count, side }, attentions);
  return { ...one, where, from: { ...one.from, pad: there.pad, interventions: there.interventions } };
}

/**
 * Those whose tokens are still there when a side has only its first `lengths[side]` tokens: none of another sentence.
 * @param {Intervention[]} interventions @param {Attention[]} attentions  of the model
 * @param {Record<"source"|"target", number>} lengths  Infinity: as it was
 */
export function within(interventions, attentions, lengths) {
  return interventions.filter((one) => {
    const attention = attentionNamed(one, attentions);
    if (!attention) return true; // the server says what is wrong
    const { query, key } = one.where;
    return (query ?? -1) < lengths[attention.queries] && (key ?? -1) < lengths[attention.keys];
  });
}

/** Whether it allows every key, whatever that is. @param {Intervention} one */
const allowsAny = ({ kind, where, allow }) => kind === "mask" && allow === true && (where.key ?? null) === null;

/** @param {Run} run @param {Run["pad"]} pad */
const hasPads = (run, { count, side }) => run.pad.count === count && (count === 0 || run.pad.side === side);

/** The index of the first PAD; Infinity after a text, whose tokens are not counted here. @param {Pick<Run, "input"|"pad">} run */
function firstPadOf({ input, pad }) {
  if (pad.side === "left") return 0;
  return "token_ids" in input ? input.token_ids.length : Infinity;
}
