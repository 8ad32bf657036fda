/** The river: the whole model as one picture. Widths are rolled-out contributions; darkness is the effect of a knockout. */

import { lazily } from "../data/lazily.js";
import { masksChanged } from "../model/compare/runs.js";
import { answeringStack, answersTokens, can } from "../model/description.js";
import { isModel } from "../views/places.js";
import { riverState } from "./view_state.js";

/**
 * @import { Model } from "../model/description.js"
 * @import { State } from "../state/store.js"
 * @import { Panel } from "../views/view.js"
 */

const drawing = lazily(() => import("./river.js"));

/** Whether it is not there: a lesson put it away, or a quiz asks for the answer that it says. @param {State} state */
export const away = (state) => !riverState.of(state).shown || state.quiz;

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
  has: (model) => can(model, "route"),
  viewState: riverState,
  needs(state, model) {
    if (away(state)) return [];
    const changed = masksChanged(state, model) ? ["as_trained"] : [];
    return [...(answersTokens(model) ? ["prediction"] : []), "explain:route", "without_knockouts", ...changed];
  },
  also(state, model) {
    if (away(state) || !isModel(state)) return []; // the strip has neither
    return [...(readsLayers(state, model) ? ["explain:lens"] : []), "head_rows"];
  },
  load: async (state) => {
    if (!state || !away(state)) await drawing.load();
  },
  draw(root, trace, state, actions) {
    root.hidden = away(state);
    if (!root.hidden || root.hasChildNodes()) drawing.draw(root, trace, state, actions);
  },
};
