/** The two runs that the page compares, and the result of compare(). Pure: from states to states. */

import { patchBetween, patched, runOf, stateOf } from "../../state/run.js";
import { attentionOf, attentionsOf, offersPads, skipsPads, trainedCausal, writesTarget } from "../description.js";
import { headsOff } from "../edits.js";
import { partOff } from "../formula_edits.js";
import { openedLayers, opensCells, withoutKnockouts, withPads } from "../interventions.js";
import { compare, startOf } from "./compare.js";

/**
 * @import { Head } from "../edits.js"
 * @import { Part } from "../formula_edits.js"
 * @import { Patch, State } from "../../state/store.js"
 * @import { Model, SideName } from "../description.js"
 * @import { Pair, Reason } from "./compare.js"
 */

/** Whether the sentence is read as in training; the other padding switches then have no effect. @param {State} state */
export function isTrained({ causal, padCount, hidden, interventions }) {
  return causal === null && padCount === 0 && hidden.length === 0 && interventions.length === 0;
}

/** Which of the two runs the page shows. @typedef {"before"|"after"|"difference"} Side */

/** @param {Pick<State, "compare"|"against">} state @returns {Side} */
export const sideShown = ({ compare, against }) => (compare ? "difference" : against ? "before" : "after");

/** Whether the page shows what changed, row by row: both runs have the same rows. @param {State} state */
export const isDifference = (state) =>
  sideShown(state) === "difference" && state.against === null && state.padCount === 0 && !isTrained(state);

/** Whether numbers of the run before stand beside those of the run that is shown. @param {State} state */
export const namesBefore = (state) => state.file === null && !isTrained(state) && sideShown(state) === "after";

/**
 * The change that shows a side: before, all that is changed is set aside (as `against`); the choice stays on its tokens.
 * @param {State} state @param {Side} side @param {any} model @returns {Patch}
 */
export function showing(state, side, model) {
  if (side === "before") return state.against ? { compare: false } : { ...aside(state, model), compare: false };
  if (side === "difference" && state.against && !isTrained(state)) return { compare: true }; // of two runs that a link compares
  return { ...changesBack(state, model), compare: side === "difference" };
}

/** @param {State} state @param {any} model @returns {Patch} */
function aside(state, model) {
  const masks = { causal: null, padMask: true, padFollow: true, hidden: [] };
  const patch = { ...keepingPlace(state, { padCount: 0 }, model), ...masks, interventions: [] };
  return { ...patch, against: patchBetween(runOf({ ...state, ...patch }), runOf(state)) };
}

/** What brings back what was set aside; {}: nothing was. @param {State} state @param {any} model @returns {Patch} */
function changesBack(state, model) {
  if (!state.against) return {};
  const run = stateOf(patched(runOf(state), state.against));
  const { padCount, padSide } = run;
  return { ...keepingPlace(state, { padCount, padSide }, model), ...run, against: null };
}

/** The state with its changes, also while they are set aside. @param {State} state @param {any} model @returns {State} */
export const withChanges = (state, model) =>
  sideShown(state) === "before" ? { ...state, .../** @type {any} */ (changesBack(state, model)) } : state;

/**
 * A change of the masks or edits. What was set aside comes back with it; a run as trained has no other to be compared with.
 * @param {State} state @param {any} model @param {(state: State) => Patch} change  of the state with its changes @returns {Patch}
 */
export function editing(state, model, change) {
  const now = withChanges(state, model);
  const patch = { ...(now === state ? null : changesBack(state, model)), ...change(now) };
  const then = /** @type {State} */ ({ ...now, ...patch });
  return isTrained(then) && then.against === null ? { ...patch, compare: false } : patch;
}

/**
 * Whether the sentence is read in another way than in training, apart from knockouts.
 * @param {State} state @param {any} model
 */
export const masksChanged = ({ causal, padCount, hidden, interventions }, model) =>
  (causal !== null && causal !== trainedCausal(model)) ||
  padCount > 0 ||
  hidden.length > 0 ||
  withoutKnockouts(interventions).length > 0;

/** The state with the sentence read as in training. @param {State} state @returns {State} */
function trainedOf(state) {
  return { ...state, causal: null, padCount: 0, hidden: [], interventions: [] };
}

/**
 * With `against`: this run, and the run that the patch makes of it. Otherwise before is as in training and after has
 * the current switches; if they are the same, after has the causal mask toggled.
 * @param {State} state @param {any} model @returns {{before: State, after: State}}
 */
export function compared(state, model) {
  if (state.against) {
    return { before: state, after: { ...state, ...stateOf(patched(runOf(state), state.against)), against: null } };
  }
  return { before: trainedOf(state), after: isTrained(state) ? { ...state, causal: !trainedCausal(model) } : state };
}

/** Whether the causal mask is on in a run. @param {Pick<State, "causal">} state @param {any} model */
export const causalIn = ({ causal }, model) => causal ?? trainedCausal(model);

/**
 * What is changed about how a text is read, apart from knockouts.
 * @typedef {Object} MaskChanges
 * @property {boolean|null} causal  the mask that is on or off against training; null: as in training
 * @property {number[]} layers  in which alone it is off @property {boolean} target  it is that of a decoder that translates
 * @property {{n: number, read: boolean, unseen: boolean, counted: boolean}|null} pads  `read`: like words; `unseen`: no token attends
 *   that far; `counted`: as positions
 * @property {Head[]} heads  that are off @property {Part[]} parts  attentions and FFNs that are off @property {number} hidden  patches
 * @property {number} allowed  edits that open cells of a mask @property {number} others  interventions of other kinds
 */

/** @param {State} state @param {Model} model @returns {MaskChanges|null} null: nothing */
export function maskChanges(state, model) {
  if (!masksChanged(state, model)) return null;
  const { padCount: n, padSide, padMask, padFollow, hidden, interventions } = state;
  const [on, target] = [causalIn(state, model), writesTarget(model)];
  const opened = openedLayers(state, model);
  const heads = headsOff(interventions, attentionsOf(model));
  const parts = interventions.map((one) => partOff(one, attentionsOf(model))).filter((part) => part !== null);
  const allowed = interventions.filter(opensCells).length;
  return {
    causal: on === trainedCausal(model) ? null : on,
    layers: opened.map(({ where }) => where.layer),
    target,
    pads: n
      ? {
          n,
          read: !padMask || !offersPads(model),
          unseen: padSide === "right" && on && !target,
          counted: padSide === "left" && !(padFollow && skipsPads(model)),
        }
      : null,
    hidden: padMask ? hidden.length : 0,
    heads,
    parts,
    allowed,
    others: withoutKnockouts(interventions).length - opened.length - heads.length - parts.length - allowed,
  };
}

/** The one of the two runs that the page does not show. @param {State} state @param {any} model @returns {State} */
export function otherRun(state, model) {
  const { before, after } = compared(state, model);
  return isBefore(state) ? after : before;
}

/** Whether the shown run is the one before. @param {State} state */
export const isBefore = (state) => Boolean(state.against) || isTrained(state);

/** @param {any} model */
const shapeOf = (model) => ({ attentions: attentionsOf(model), written: model.description.writes });

/** What corresponds in the shown run (A) and the other one (B). @param {State} state @param {any} model */
export const comparisonOf = (state, model) => compare(runOf(state), runOf(otherRun(state, model)), shapeOf(model));

/**
 * Where the tokens of the shown run, or of `from`, are in the run after.
 * @param {State} state @param {any} model @param {State} [from]
 */
export function sidesAfter(state, model, from = state) {
  return compare(runOf(from), runOf(compared(state, model).after), shapeOf(model)).sides;
}

/**
 * What can be compared in the two runs, and why the rest cannot (null: there is no rest).
 * @param {State} state @param {any} model @returns {{pairs: Pair[], reason: Reason|null}}
 */
export function comparable(state, model) {
  const { pairs } = comparisonOf(state, model);
  const reason = pairs.find((pair) => pair.reason !== null)?.reason ?? null;
  return { pairs: pairs.filter((pair) => pair.reason === null), reason };
}

/** Whether the open head is drawn in two runs. @param {State} state @param {any} model */
export const isCompared = (state, model) => state.compare && hasWeights(comparable(state, model).pairs, state, model);

/** Whether the open head's weights are among the pairs. @param {Pair[]} pairs @param {State} state @param {any} model */
export function hasWeights(pairs, state, model) {
  const { id } = attentionOf(model, state.attention);
  return pairs.some((pair) => pair.what === "weights" && pair.attention === id);
}

/** Whether the logits are. @param {Pair[]} pairs */
export const hasLogits = (pairs) => pairs.some(({ what }) => what === "logits");

/** The single run that a padded one should equal: the same switches, no PAD. @param {State} state @param {any} model @returns {State} */
export const aloneOf = (state, model) => ({ ...state, ...repadded(state, { padCount: 0 }, model) });

/**
 * A change of the padding that leaves interventions on their tokens.
 * @param {State} state @param {Partial<State>} patch @param {any} model
 */
function repadded(state, patch, model) {
  const { pad } = runOf({ ...state, ...patch });
  const moved = (/** @type {State["interventions"]} */ interventions) =>
    withPads({ ...runOf(state), interventions }, pad, attentionsOf(model)).interventions;
  const paused = state.paused.flatMap(({ at, edit }) => moved([edit]).map((one) => ({ at, edit: one })));
  return { ...patch, interventions: moved(state.interventions), paused };
}

/**
 * The index of a side's first token: PADs on the left move it.
 * @param {State} state @param {"source"|"target"} [side]
 */
export const offsetOf = (state, side = "source") => startOf(runOf(state), side);

/**
 * A change of the padding that leaves the chosen query and key, and interventions, on their tokens.
 * @param {State} state @param {Partial<State>} patch @param {any} model
 * @returns {Partial<State>}
 */
export function keepingPlace(state, patch, model) {
  const { queries, keys } = attentionOf(model, state.attention);
  /** @param {number|null} index @param {SideName} side */
  const move = (index, side) => {
    const offset = offsetOf({ ...state, ...patch }, side);
    const moved = index === null ? -1 : index - offsetOf(state, side) + offset;
    return moved >= offset ? moved : null;
  };
  return { ...repadded(state, patch, model), query: move(state.query, queries), key: move(state.key, keys) };
}
