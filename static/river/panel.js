/** The river: the whole model as one picture. Widths are rolled-out shares, darkness is measured by cutting. */

import { lazily } from "../data/lazily.js";
import { answeringStack, answersTokens, can } from "../model/description.js";
import { atLeast } from "../state/levels.js";
import { headNeeds, loadHead } from "./open_head/needs.js";
import { own } from "./own.js";

/**
 * @import { Model } from "../model/description.js"
 * @import { State } from "../state/store.js"
 * @import { Panel } from "../stations/index.js"
 */

const drawing = lazily(() => import("./draw_panel.js"));

/**
 * Whether it is not there: Understand is about its stations; where everything is, its reader folded it, or a quiz asks for
 * the answer that it says.
 * @param {State} state
 */
export function away(state) {
  if (!atLeast(state, "understand")) return false;
  return !atLeast(state, "everything") || !own.of(state).shown || state.quiz;
}

/** About as many multiplications as the lens may take here, where nobody asked for it: some ten seconds on two cores. */
const PRODUCTS = 25e10;

/**
 * Whether the lens is there, and is read by default: of a large model and a long text it takes a minute. A token is mostly
 * a character or more.
 * @param {State} state @param {Model} model
 */
export function readsLayers({ text, ids }, model) {
  if (!can(model, "lens")) return false;
  const { vocab_size: vocab, d_model: wide, max_seq_len: window } = model.description;
  const rows = answersTokens(model) ? Math.min((ids ?? text).length, window) : 1;
  return (answeringStack(model).layers.length + 1) * rows * vocab * wide <= PRODUCTS;
}

/** @type {Panel} */
export default {
  id: "river",
  level: "look",
  frame: {
    place: "home",
    className: "panel river",
    title: "river.title",
    waits: "river.waits",
    fails: "river.fails",
    lacks: "river.lacks",
  },
  has: (model) => can(model, "route"),
  own,
  needs(state, model) {
    if (away(state)) return [];
    return [...(answersTokens(model) ? ["prediction"] : []), "explain:route", "uncut", ...headNeeds(state, model)];
  },
  also: (state, model) => (away(state) ? [] : [...(readsLayers(state, model) ? ["explain:lens"] : []), "looks"]),
  load: async (state, model) => {
    if (!state || !away(state)) await Promise.all([drawing.load(), loadHead(state, model)]);
  },
  draw(root, trace, state, actions) {
    root.hidden = away(state);
    if (!root.hidden || root.hasChildNodes()) drawing.draw(root, trace, state, actions);
  },
};
