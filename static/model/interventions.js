/** What the page needs to know about interventions: whose masks they change, and which tokens their indices name. No DOM. */

import { runOf, stateOf } from "../state/run.js";
import { startOf } from "./compare/compare.js";
import { attentionsOf, trainedCausal } from "./description.js";

/**
 * @import { Intervention, Run } from "../state/run.js"
 * @import { Patch, State } from "../state/store.js"
 * @import { Attention } from "./description.js"
 */

/** The attention that an intervention names, by default the first. @param {Intervention} one @param {Attention[]} attentions */
const attentionNamed = ({ where }, attentions) =>
  attentions.find(({ id }) => id === (where.attention ?? attentions[0]?.id));

/**
 * The attentions whose mask is edited: their layers do not all have the same mask.
 * @param {Intervention[]} interventions @param {Attention[]} attentions
 */
export const maskEdited = (interventions, attentions) =>
  new Set(interventions.filter(({ kind }) => MASKS.includes(kind)).map((one) => attentionNamed(one, attentions)));

/** The kinds of edits of a mask: its cells, or how far a token sees. */
const MASKS = ["mask", "window"];

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

// The causal mask off in one layer only: an intervention that allows every cell of it. No DOM.

/** @param {string} attention @param {number} layer @returns {Intervention} */
const opened = (attention, layer) => ({ kind: "mask", where: { attention, layer, role: "mask" }, allow: true });

/**
 * The interventions that switch the causal mask off in a whole layer, of any layer.
 * @param {Pick<State, "interventions">} state @param {any} model
 */
export const openedLayers = ({ interventions }, model) =>
  interventions.filter((one) => isWhole(one) && attentionNamed(one, attentionsOf(model))?.causal);

/** @param {Intervention} one */
const isWhole = ({ kind, where, allow }) =>
  kind === "mask" &&
  allow === true &&
  Number.isInteger(where.layer) &&
  ["head", "query", "key"].every((name) => (where[name] ?? null) === null);

/** Whether an edit allows single cells, rows or columns that a model's own mask forbids. @param {Intervention} one */
export const opensCells = ({ kind, allow, where, lifts }) =>
  kind === "mask" &&
  allow === true &&
  ["query", "key"].some((name) => Number.isInteger(where[name])) &&
  (lifts ?? ["causal"]).some((/** @type {string} */ reason) => reason !== "edited");

/**
 * The change that puts the causal mask on, or off, in every layer.
 * @param {State} state @param {boolean} on @param {any} model @returns {Patch}
 */
export function everyLayer(state, on, model) {
  const ones = openedLayers(state, model);
  const causal = on === trainedCausal(model) ? null : on;
  return ones.length ? { causal, interventions: state.interventions.filter((one) => !ones.includes(one)) } : { causal };
}

/**
 * From the mask off in every layer to this layer only; and back, wherever it is off. Null where it is neither, or where
 * PADs would be allowed too.
 * @param {State} state @param {Attention} attention  the open one @param {any} model
 * @returns {{only: boolean, patch: Patch}|null} `only`: the patch leads to this layer only
 */
export function layerOnly(state, attention, model) {
  if (!attention.causal) return null;
  if (openedLayers(state, model).length) return { only: false, patch: everyLayer(state, false, model) };
  if (state.padCount > 0 || state.against) return null;
  const isOff = (state.causal ?? trainedCausal(model)) === false || state.interventions.length === 0;
  const one = opened(attention.id, state.layer);
  return isOff ? { only: true, patch: { causal: null, interventions: [...state.interventions, one] } } : null;
}

// Attention knockouts (Geva et al. 2023): interventions that keep one query from seeing one key, in all heads of a layer or in one. The softmax spreads
// over the other keys. No DOM.

/**
 * @typedef {{attention: string, layer: number, query: number, key: number, head?: number}} Edge  without `head`: in all of them
 */

/** @param {Edge} edge @returns {Intervention} */
const knockoutOf = ({ attention, layer, query, key, head }) => ({
  kind: "mask",
  // In the order of the server's fields: in a saved document a run is found by its text.
  where: { attention, layer, role: "mask", ...(head == null ? {} : { head }), query, key },
  allow: false,
});

/** @param {Intervention} one */
const isKnockout = ({ kind, where, allow }) =>
  kind === "mask" && allow === false && Number.isInteger(where.query) && Number.isInteger(where.key);

/** What identifies an edge. @param {Edge} edge */
export const edgeKey = ({ attention, layer, query, key, head }) =>
  `${attention} ${layer} ${query} ${key}${head == null ? "" : ` ${head}`}`;

/** Only those fields of a line that name its edge. @param {Edge} edge @returns {Edge} */
export const plainEdge = ({ attention, layer, query, key, head }) => ({
  ...{ attention, layer, query, key },
  ...(head == null ? {} : { head }),
});

/**
 * The edges that a run knocks out, in its order: of an edit in every layer, one for each.
 * @param {Intervention[]} interventions @param {Attention[]} attentions  of the model
 * @returns {Edge[]}
 */
export const knockoutsOf = (interventions, attentions) =>
  interventions.filter(isKnockout).flatMap((one) => edgesOf(one, attentions));

/** @param {Intervention} knockout @param {Attention[]} attentions @returns {Edge[]} */
function edgesOf({ where }, attentions) {
  const attention = where.attention ?? attentions[0]?.id;
  const edge = plainEdge({ ...where, attention });
  if (where.layer !== null) return [edge];
  const n = attentions.find(({ id }) => id === attention)?.n_layer ?? 0;
  return Array.from({ length: n }, (_, layer) => ({ ...edge, layer }));
}

/** The interventions without the knockouts. @param {Intervention[]} interventions */
export const withoutKnockouts = (interventions) => interventions.filter((one) => !isKnockout(one));

/** Knocks these edges out too. @param {Intervention[]} interventions @param {Edge[]} edges @param {Attention[]} attentions @returns {Intervention[]} */
export function knockedOut(interventions, edges, attentions) {
  const known = new Set(knockoutsOf(interventions, attentions).map(edgeKey));
  return [...interventions, ...edges.filter((edge) => !known.has(edgeKey(edge))).map(knockoutOf)];
}

/**
 * Knock these edges out too; if all of them are, restore them.
 * @param {Intervention[]} interventions @param {Edge[]} edges @param {Attention[]} attentions
 * @returns {Intervention[]}
 */
export function toggled(interventions, edges, attentions) {
  const out = knockedOut(interventions, edges, attentions);
  if (out.length > interventions.length) return out;
  const restored = new Set(edges.map(edgeKey));
  return interventions.flatMap((one) => {
    const all = isKnockout(one) ? edgesOf(one, attentions) : [];
    const kept = all.filter((edge) => !restored.has(edgeKey(edge)));
    return kept.length === all.length ? [one] : kept.map(knockoutOf); // some layers of an edit in all of them may stay
  });
}
