/** What the picture shows and says of a trace: everything that the board and the sentence are made from. No DOM. */

import { requestOf } from "../../data/request.js";
import { riversOf } from "../../data/river.js";
import { inside } from "../../model/compare/measure.js";
import { cutsOf, edgeKey, toggled } from "../../model/cuts.js";
import { answeringStack, can } from "../../model/description.js";
import { namesOf } from "../../model/numbered_names.js";
import { rollout } from "../../model/reach.js";
import { sideOf } from "../../model/sides.js";
import { answeringSide, answersOf, chosenRow } from "./chosen_token.js";
import { decidingLook } from "./deciding_look.js";

/**
 * @import { SavedEffects } from "../../data/archive.js"
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Edge } from "../../model/cuts.js"
 * @import { Name } from "../../model/numbered_names.js"
 * @import { Reach } from "../../model/reach.js"
 * @import { State } from "../../state/store.js"
 * @import { Answer } from "./chosen_token.js"
 * @import { Measured } from "./measuring.js"
 */

/**
 * @typedef {{answer: Answer, before: number, after: number|null}} Fall  of the answer that the uncut run gives
 * @typedef {Object} Facts
 * @property {Reach[]} rolled @property {Reach[]|null} before  without the cuts
 * @property {number} row  the chosen token
 * @property {Name[][]} names  of each stack's tokens
 * @property {Answer[]} answers @property {Answer[]} answersBefore
 * @property {Edge[]} cuts
 * @property {Fall|null} fall  null: nothing is cut
 * @property {Measured|null} measured  null: this model has no effects
 * @property {boolean} cuttable  whether any line can be cut
 * @property {boolean} isSaved  whether it comes from a file
 */

/** A rollout is computed once for each answer of the server and row. */
export function rolledOnce() {
  let last = { route: /** @type {any} */ (null), row: -1, rolled: /** @type {Reach[]} */ ([]) };
  /** @param {any} route @param {ModelTrace} trace @param {number} row */
  return (route, { model }, row) => {
    const known = last.route === route && last.row === row;
    if (!known) last = { route, row, rolled: rollout(riversOf(route), answeringStack(model).id, row) };
    return last.rolled;
  };
}

/**
 * @param {ModelTrace} trace @param {State} state
 * @param {{rolled: ReturnType<typeof rolledOnce>, before: ReturnType<typeof rolledOnce>}} rolls
 * @param {ReturnType<typeof import("./measuring.js").createMeasuring>} measuring
 * @returns {Facts}
 */
export function factsOf(trace, state, rolls, measuring) {
  const row = chosenRow(state, trace);
  const rolled = rolls.rolled(trace.explained.route, trace, row);
  const before = trace.uncut && rolls.before(trace.uncut.route, trace, row);
  const names = rolled.map(({ river }) => namesOf(sideOf(trace.sides, river.side).tokens));
  const answers = answersOf(trace, row);
  const answersBefore = trace.uncut ? answersOf(trace.uncut, row) : [];
  const cuts = trace.uncut ? cutsOf(state.interventions, trace.attentions) : [];
  const measured = measuredOf(trace, state, { row, rolled, answer: answersBefore[0]?.id ?? null }, measuring);
  const fall = answersBefore.length ? fallOf(answersBefore[0], answers, measured) : null;
  const cuttable = measured !== null && trace.file === null;
  const isSaved = trace.file !== null;
  return { rolled, before, row, names, answers, answersBefore, cuts, fall, measured, cuttable, isSaved };
}

/** @param {Answer} answer @param {Answer[]} answers @param {Facts["measured"]} measured @returns {Fall} */
function fallOf(answer, answers, measured) {
  const listed = answers.find(({ id }) => id === answer.id)?.p;
  const start = measured?.start?.answer === answer.id ? measured.start.p : null;
  return { answer, before: answer.p, after: listed ?? start };
}

/**
 * The effects of the widest edges on the answer: with cuts, on the one that the uncut run gives.
 * @param {ModelTrace} trace @param {State} state @param {{row: number, rolled: Reach[], answer: number|null}} of
 * @param {ReturnType<typeof import("./measuring.js").createMeasuring>} measuring
 */
function measuredOf(trace, state, { row, rolled, answer }, measuring) {
  if (!can(trace.model, "effects") || trace.file !== null || !inside(answeringSide(trace).real, row)) {
    measuring.stop();
    return trace.measured?.row === row ? savedOf(trace.measured) : null;
  }
  const pinned = withTarget(state, trace);
  const at = trace.classes ? {} : { row };
  return measuring.of(
    { ...requestOf(pinned), ...at, answer },
    (effects) => decidingLook(rolled[0], row, effects),
    (edges) => ({
      ...requestOf({ ...pinned, interventions: toggled(state.interventions, edges, trace.attentions) }),
      ...at,
    }),
  );
}

/** @type {WeakMap<object, Facts["measured"]>} */
const known = new WeakMap();

/** What was measured when a picture was saved. @param {SavedEffects} saved */
function savedOf(saved) {
  const effects = new Map(saved.effects.map((one) => [edgeKey(one), one]));
  if (!known.has(saved)) known.set(saved, { start: saved.start, effects, done: true, look: saved.look, error: null });
  return known.get(saved) ?? null;
}

/** With what the model has written as its target: a cut must not change it. @param {State} state @param {ModelTrace} trace */
const withTarget = (state, { sides: { target } }) =>
  target && !state.targetIds ? { ...state, target: null, targetIds: target.tokens.map(({ id }) => id) } : state;

/** Whether an edge is cut. @param {Facts} facts @param {Edge} edge */
export const isCut = ({ cuts }, edge) => cuts.some((one) => edgeKey(one) === edgeKey(edge));

/** The measured effect of a line; undefined: it was not measured. @param {Facts} facts @param {Edge & {many?: boolean}} line */
export const effectOf = ({ measured }, line) => (line.many ? undefined : measured?.effects.get(edgeKey(line)));
