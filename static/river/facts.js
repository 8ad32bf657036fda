/** What the picture shows and says about a trace: everything that the board and the sentence are made from. No DOM. */

import { MANY_LAYERS, MANY_TOKENS } from "../data/explain.js";
import { requestOf } from "../data/request.js";
import { riversOf } from "../data/wire.js";
import { mostNeeded } from "../model/ablations.js";
import { isDifference, maskChanges, sideShown } from "../model/compare/runs.js";
import { rollout, rolloutToCome } from "../model/contribution_rollout.js";
import { answeringStack, attentionsOf, can } from "../model/description.js";
import { headsEdited, onlyOn } from "../model/edits.js";
import { edgeKey, knockoutsOf, toggled } from "../model/interventions.js";
import { namesOf, offeredAfter } from "../model/labels.js";
import { memo } from "../model/memo.js";
import { position, rowOf } from "../model/selection.js";
import { inside, sideOf } from "../model/sides.js";
import { endsText } from "../model/written.js";
import { sameValue } from "../state/view_state.js";
import { headShort } from "../ui/heads.js";
import { choosesWritten, isModel, opensLow, placeOf } from "../views/places.js";
import { decidingEdges } from "./knockout_effects.js";
import { riverState } from "./view_state.js";

/**
 * @import { SavedEffects } from "../data/document_source.js"
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { River } from "../data/wire.js"
 * @import { MaskChanges } from "../model/compare/runs.js"
 * @import { Head } from "../model/edits.js"
 * @import { Rollout } from "../model/contribution_rollout.js"
 * @import { SideName, Stack } from "../model/description.js"
 * @import { Edge } from "../model/interventions.js"
 * @import { Name, Token } from "../model/labels.js"
 * @import { State } from "../state/store.js"
 * @import { Measured } from "./knockout_effects.js"
 */

// What the model would say if it stopped after each layer (the logit lens).

/** @typedef {{answer: Answer, fresh: boolean, final: boolean}} Next  `fresh`: differs from the layer before */

/**
 * One for each layer; [] without a lens.
 * @param {ModelTrace} trace @param {number} row  the chosen token @returns {Next[]}
 */
export function nextSoFar({ explained: { lens }, model, classes, written }, row) {
  if (!lens || lens.refused) return [];
  const at = classes ? 0 : lens.rows.indexOf(row);
  if (at < 0) return [];
  const depths = answeringStack(model).layers.length;
  const ids = lens.top.map((/** @type {number[][][]} */ depth) => depth[at][0]);
  return Array.from({ length: depths }, (_, layer) => {
    const depth = layer + 1;
    const id = ids[depth];
    const p = lens.probability[depth][at][0];
    const answer = classes
      ? { id, p, token: null, name: lens.classes[id] }
      : { id, p, token: offeredAfter(lens.tokens[id], written?.tokens[row]), name: null };
    return { answer, fresh: layer > 0 && ids[depth - 1] !== id, final: id === ids[depths] };
  });
}

// The token whose answer the river shows, and the answer.

/**
 * @typedef {{id: number, p: number, token: Token|null, name: string|null}} Answer  a token, or a class by its name
 */

/** The chosen row of the stack that answers: of a classifier, the one that its answer is read from. @param {State} state @param {ModelTrace} trace */
function chosenRow(state, trace) {
  if (trace.written) return rowOf(state, trace);
  const { real } = answeringSide(trace);
  return trace.classes ? real.start : position(state, trace).query;
}

/** @param {ModelTrace} trace */
const answeringSide = ({ sides, model }) => sideOf(sides, answeringStack(model).side);

/**
 * The change that chooses a token of a stack; null if the token has no separate answer.
 * @param {ModelTrace} trace @param {SideName} side @param {number} row
 */
export function choosing({ written, attention, classes }, side, row) {
  if (classes || (written && side !== written.side)) return null;
  return attention.queries === side ? { query: row, key: null } : { row };
}

/** The most likely answers, the model's choice first. @param {Pick<ModelTrace, "classes"|"predictions">} trace @param {number} row @param {Token} [before]  the token that they come after @returns {Answer[]} */
function answersOf({ classes, predictions }, row, before) {
  if (classes) {
    const named = classes.map(({ name, probability: p }, id) => ({ id, p, token: null, name }));
    return named.sort((a, b) => b.p - a.p);
  }
  const candidates = predictions[row]?.candidates ?? [];
  const tokenOf = (/** @type {any} */ one) => offeredAfter(one, before);
  return candidates.map((/** @type {any} */ one) => ({ id: one.id, p: one.before, token: tokenOf(one), name: null }));
}

/** What the picture depends on: answers of the server, compared by identity, and plain values. @param {ModelTrace} trace @param {State} state */
function pictureInputs(trace, state) {
  const { explained, withoutKnockouts, asTrained, predictions, classes, attentions } = trace;
  const row = chosenRow(state, trace);
  const { query, key } = position(state, trace);
  const at = isModel(state) ? null : [placeOf(state).name, trace.attention.id, state.layer, state.head, query, key];
  return {
    answers: [
      explained.route,
      explained.lens,
      placeOf(state).name === "ffn" && explained.contributions,
      placeOf(state).name === "residual" && explained.residual,
      predictions[row],
      classes,
      withoutKnockouts?.route,
      withoutKnockouts?.predictions[row],
      isDifference(state) && trace.routeBefore,
      asTrained?.predictions[row],
      asTrained?.classes,
      at && trace.detail,
      at && trace.detailBefore,
      trace.ablations,
    ],
    values: [
      trace.key,
      attentions.length,
      row,
      state.theme,
      state.type,
      state.lang,
      state.seed, // the sentence says what the draw will take
      state.begin,
      riverState.of(state),
      isDifference(state),
      sideShown(state), // what is undone while the run before is shown leaves its trace
      at,
      state.start,
      opensLow(state),
      state.quiz,
    ],
  };
}

/**
 * Whether two moments of a page have the same picture.
 * @param {{trace: ModelTrace, state: State}} was @param {{trace: ModelTrace, state: State}} now
 */
export function samePicture(was, now) {
  const [a, b] = [pictureInputs(was.trace, was.state), pictureInputs(now.trace, now.state)];
  return a.answers.every((answer, i) => answer === b.answers[i]) && sameValue(a.values, b.values);
}

/**
 * @typedef {{answer: Answer, before: number, after: number|null}} Fall  of the answer that the run before the change gives
 * @typedef {Object} Facts
 * @property {Rollout[]} rolled @property {Rollout[]|null} before  without the knockouts @property {Rollout[]|null} was  of the run before, where the difference is shown
 * @property {number} row  the chosen token
 * @property {Name[][]} names  of each stack's tokens
 * @property {Answer[]} answers @property {Answer[]} answersBefore  as trained, or without the knockouts; []: nothing is changed
 * @property {Edge[]} knockouts @property {MaskChanges|null} masks @property {Head[]} edited  heads that edits of their own are for
 * @property {Fall|null} fall  null: nothing is changed
 * @property {boolean} [difference]  whether changes are shown, and not what there is now
 * @property {Measured|null} measured  null: this model has no effects
 * @property {Head|null} [only]  the head that alone stays on in its layer @property {(head: Head) => string} nameOf  of a head, with its attention where a model has several
 * @property {(Head & {p: number, name: string})|null} [needed]  where heads are off: the one that the answer now needs most, and what is left without it
 * @property {boolean} canKnockOut  whether any line can be knocked out
 * @property {boolean} isSaved  whether it comes from a file
 * @property {boolean} waits  whether its lines are still to come
 * @property {boolean} isEnd  whether the chosen token is the END of what the model wrote
 * @property {Answer|null} [comes]  what the draw will take after the chosen token, where that is not the likeliest
 * @property {boolean} written  whether a row of the answering stack is called by the token that it writes (model/written.js)
 */

/** More layers than this scroll. @param {Rollout[]} rolled */
export const isDeep = (rolled) => rolled.reduce((sum, { river }) => sum + river.layers, 0) > MANY_LAYERS;

/** @param {Rollout[]} rolled */
export const isLarge = (rolled) => isDeep(rolled) || rolled.some(({ river }) => river.tokens > MANY_TOKENS);

/** Of a trace whose lines are still to come: nothing flows yet. @type {(key: string, trace: ModelTrace, row: number) => Rollout[]} */
const stillToCome = (() => {
  let last = { key: "", row: -1, rolled: /** @type {Rollout[]} */ ([]) };
  return (/** @type {string} */ key, /** @type {ModelTrace} */ trace, /** @type {number} */ row) => {
    if (last.key !== key || last.row !== row)
      last = { key, row, rolled: rolloutToCome(riversToCome(trace), answeringStack(trace.model).id, row) };
    return last.rolled;
  };
})();

/** Its stacks, without shares. @param {ModelTrace} trace @returns {River[]} */
function riversToCome({ model, sides }) {
  const tokensOn = (/** @type {SideName} */ side) => sideOf(sides, side).tokens.length;
  return model.description.stacks.map((/** @type {Stack} */ { id, side, layers }) => ({
    ...{ stack: id, side, layers: layers.length, tokens: tokensOn(side), ffn: null },
    flows: attentionsOf(model)
      .filter(({ stack }) => stack === id)
      .map(({ id: attention, queries, keys }) => ({
        ...{ attention, queries, keys, nQuery: tokensOn(queries), nKey: tokensOn(keys), packed: false },
        ...{ share: new Float32Array(0), own: new Float32Array(0) },
      })),
  }));
}

/** A rollout is computed once for each answer of the server and row. */
export function rolledOnce() {
  let last = { route: /** @type {any} */ (null), row: -1, rolled: /** @type {Rollout[]} */ ([]) };
  /** @param {any} route @param {ModelTrace} trace @param {number} row */
  return (route, { model }, row) => {
    const known = last.route === route && last.row === row;
    if (!known) last = { route, row, rolled: rollout(riversOf(route), answeringStack(model).id, row) };
    return last.rolled;
  };
}

/**
 * @param {ModelTrace} trace @param {State} state
 * @param {Record<"rolled"|"before"|"compared", ReturnType<typeof rolledOnce>>} rolls
 * @param {ReturnType<typeof import("./knockout_effects.js").createKnockoutMeasuring>} measuring
 * @returns {Facts}
 */
export function factsOf(trace, state, rolls, measuring) {
  const row = chosenRow(state, trace);
  const { route } = trace.explained;
  const waits = !route || route.refused !== undefined;
  const rolled = waits ? stillToCome(trace.key, trace, row) : rolls.rolled(route, trace, row);
  const before = trace.withoutKnockouts?.route && rolls.before(trace.withoutKnockouts.route, trace, row);
  const difference = isDifference(state);
  const compared = !waits && difference && trace.routeBefore;
  const was = compared ? rolls.compared(trace.routeBefore, trace, row) : null;
  const names = rolled.map(({ river }) => namesOf(sideOf(trace.sides, river.side).tokens));
  const chosen = trace.written?.tokens[row];
  const isEnd = endsText(trace, row);
  const answers = isEnd ? [] : answersOf(trace, row, chosen);
  const answered = trace.asTrained ?? trace.withoutKnockouts;
  const answersBefore = answered && !isEnd ? answersOf(answered, row, chosen) : [];
  const knockouts = trace.withoutKnockouts ? knockoutsOf(state.interventions, trace.attentions) : [];
  const measured = waits
    ? null
    : measuredOf(trace, state, { row, rolled, answer: answersBefore[0]?.id ?? null }, measuring);
  const fall = answersBefore.length ? fallOf(answersBefore[0], answers, measured) : null;
  const canKnockOut = measured !== null && trace.file === null && sideShown(state) !== "before";
  const isSaved = trace.file !== null;
  if (waits) measuring.stop();
  const masks = maskChanges(state, trace.model);
  return {
    ...{ rolled, before, was, row, names, answers, answersBefore, knockouts, masks, fall, difference },
    ...{ measured, canKnockOut, isSaved, waits, isEnd, written: choosesWritten(state, trace.model) },
    edited: headsEdited(state.interventions, trace.attentions),
    only: masks?.heads.length ? onlyOn(state.interventions, trace.model) : null,
    nameOf: (head) => headShort(trace.model, head),
    needed: canKnockOut && masks?.heads.length && fall ? neededIn(trace, fall.answer) : null,
  };
}

/** The head that an answer needs most; null: it is not measured yet, or none is needed. @param {Pick<ModelTrace, "ablations"|"model">} trace @param {Answer} answer @returns {Facts["needed"]} */
function neededIn({ ablations, model }, { id }) {
  if (ablations?.start?.answer !== id) return null;
  const [most] = mostNeeded(ablations.found, "delta", 1);
  return most?.kind === "head" ? { ...most, name: headShort(model, most) } : null;
}

/** @param {Answer} answer @param {Answer[]} answers @param {Facts["measured"]} measured @returns {Fall} */
function fallOf(answer, answers, measured) {
  const listed = answers.find(({ id }) => id === answer.id)?.p;
  const start = measured?.start?.answer === answer.id ? measured.start.p : null;
  return { answer, before: answer.p, after: listed ?? start };
}

/**
 * The effects of the widest edges on the answer: with knockouts, on the one that the run without knockouts gives.
 * @param {ModelTrace} trace @param {State} state @param {{row: number, rolled: Rollout[], answer: number|null}} of
 * @param {ReturnType<typeof import("./knockout_effects.js").createKnockoutMeasuring>} measuring
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
    (effects) => decidingEdges(rolled[0], row, effects),
    (edges) => ({
      ...requestOf({ ...pinned, interventions: toggled(state.interventions, edges, trace.attentions) }),
      ...at,
    }),
    { waits: isLarge(rolled), whole: placeOf(state).name !== "head" },
  );
}

/** The edges that the sentence offers to hide: those that matter most. @param {Facts} facts @returns {Edge[]} */
export const edgesNamed = ({ measured, fall, masks }) => (fall || masks ? [] : (measured?.deciding?.edges ?? []));

/** What was measured when a picture was saved. @type {(saved: SavedEffects) => Facts["measured"]} */
const savedOf = memo(({ start, effects, look }) => ({
  start,
  effects: new Map(effects.map((one) => [edgeKey(one), one])),
  done: true,
  deciding: look,
  error: null,
}));

/** With what the model has written as its target, because a knockout must not change it. @param {State} state @param {ModelTrace} trace */
const withTarget = (state, { sides: { target } }) =>
  target && !state.targetIds ? { ...state, target: null, targetIds: target.tokens.map(({ id }) => id) } : state;

/** Whether an edge is knocked out. @param {Facts} facts @param {Edge} edge */
export const isKnockedOut = ({ knockouts }, edge) => knockouts.some((one) => edgeKey(one) === edgeKey(edge));

/** The measured effect of a line; undefined: it was not measured. @param {Facts} facts @param {Edge & {many?: boolean}} line */
export const effectOf = ({ measured }, line) => (line.many ? undefined : measured?.effects.get(edgeKey(line)));
