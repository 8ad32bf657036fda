/** The river: the whole model as one picture. Widths are rolled-out contributions; darkness is the effect of a knockout. */

import { isLate, ranksHeads, showsEffects } from "../data/explain.js";
import { lazily } from "../data/lazily.js";
import { isCompared, isDifference, masksChanged, namesBefore } from "../model/compare/runs.js";
import { answeringStack, answersTokens, attentionsOf, can } from "../model/description.js";
import { inOneColumn } from "../ui/dom.js";
import { isModel, placeOf } from "../views/places.js";
import { riverState } from "./view_state.js";

/**
 * @import { Model } from "../model/description.js"
 * @import { State } from "../state/store.js"
 * @import { Panel } from "../views/view.js"
 */

const drawing = lazily(() => import("./river.js"));

/** Whether it is not there: a lesson put it away. @param {State} state */
export const away = (state) => !riverState.of(state).shown;

/** About how many multiplications the lens may take here by default: some ten seconds on two cores. */
const PRODUCTS = 25e10;

/**
 * Whether there is a lens, and it is computed by default: for a large model and a long text it takes a minute. A token
 * mostly has at least one character.
 * @param {State} state @param {Model} model
 */
export function readsLayers({ text, ids }, model) {
  if (!can(model, "lens")) return false;
  const { vocab_size: vocab, d_model: wide, max_seq_len: window } = model.description;
  const rows = answersTokens(model) ? Math.min((ids ?? text).length, window) : 1;
  return (answeringStack(model).layers.length + 1) * rows * vocab * wide <= PRODUCTS;
}

/** What the lines are drawn from; of a model that does not tell it, what the answers are. @param {State} state @param {Model} model */
const linesOf = (state, model) => [
  ...(can(model, "route") ? ["explain:route"] : []),
  "without_knockouts",
  ...(masksChanged(state, model) ? ["as_trained"] : []),
  ...(isDifference(state) && can(model, "route") ? ["route_before"] : []),
];

/** What each head does for the answer: while nobody ranks the heads, once the reader pauses. @param {State} state @param {Model} model */
const effectsOf = (state, model) =>
  showsEffects(state, model) ? [isRanked(state) ? "ablations" : "ablations:quiet"] : [];

/** @param {State} state */
const isRanked = (state) => state.drawer === "rank" && ranksHeads(state);

/** With so many heads an FFN's effect, which comes with theirs, is measured for its sentence. */
const QUICK = 96;

/** What the sentence of an FFN says: its part of a logit, and what is lost without it. @param {State} state @param {Model} model */
function ffnNeeds(state, model) {
  const quick = attentionsOf(model).reduce((sum, { n_layer, n_head }) => sum + n_layer * n_head, 0) <= QUICK;
  const measures = quick && !isLate(state, model) && !state.quiz && state.file === null && state.lesson === null;
  return [
    ...(can(model, "contributions") ? ["explain:contributions"] : []),
    ...(measures && can(model, "ablations") ? ["ablations"] : []),
  ];
}

/** @type {Panel} */
export const river = {
  id: "river",
  frame: {
    place: "home",
    className: "panel river",
    title: "river.title",
    waits: "river.waits",
    fails: "river.fails",
    lacks: "river.lacks",
  },
  viewState: riverState,
  needs(state, model) {
    if (away(state)) return [];
    return [...(answersTokens(model) ? ["prediction"] : []), ...(isLate(state, model) ? [] : linesOf(state, model))];
  },
  also(state, model) {
    if (away(state)) return effectsOf(state, model); // of the heads over the open one
    const lines = [...(isLate(state, model) ? linesOf(state, model) : []), ...effectsOf(state, model)];
    const head = placeOf(state).name === "head";
    if (head && (isCompared(state, model) || namesBefore(state))) return [...lines, "compared_detail"]; // its weight before
    if (placeOf(state).name === "ffn") return [...lines, ...ffnNeeds(state, model)];
    if (!isModel(state) || state.quiz) return lines; // the strip has neither
    // Where one layer is drawn, as always on a phone, its squares have numbers below them.
    const exact = (riverState.of(state).layer || inOneColumn()) && state.file === null;
    const rows = ["head_rows", ...(exact ? ["head_rows:exact"] : [])];
    return [...lines, ...rows, ...(readsLayers(state, model) ? ["explain:lens"] : [])];
  },
  load: async (state) => {
    if (!state || !away(state)) await drawing.load();
  },
  draw(root, trace, state, actions) {
    root.hidden = away(state);
    if (!root.hidden || root.hasChildNodes()) drawing.draw(root, trace, state, actions);
  },
};
