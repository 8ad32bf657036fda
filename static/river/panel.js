/** The river: the whole model as one picture. Widths are rolled-out shares, darkness is measured by cutting. */

import { lazily } from "../data/lazily.js";
import { answersTokens, can } from "../model/description.js";
import { atLeast } from "../state/levels.js";
import { loadZoom, zoomNeeds } from "./deep.js";
import { own } from "./own.js";

const drawing = lazily(() => import("./draw_panel.js"));

/**
 * Whether it is not there: Understand is about its stations; where everything is, its reader folded it, or a quiz asks for
 * the answer that it says.
 * @param {import("../state/store.js").State} state
 */
export function away(state) {
  if (!atLeast(state, "understand")) return false;
  return !atLeast(state, "everything") || !own.of(state).shown || state.quiz;
}

/** @type {import("../stations/index.js").Panel} */
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
    return [...(answersTokens(model) ? ["prediction"] : []), "explain:route", "uncut", ...zoomNeeds(state, model)];
  },
  also: (state, model) => (away(state) ? [] : [...(can(model, "lens") ? ["explain:lens"] : []), "looks"]),
  load: async (state, model) => {
    if (!state || !away(state)) await Promise.all([drawing.load(), loadZoom(state, model)]);
  },
  draw(root, trace, state, actions) {
    root.hidden = away(state);
    if (!root.hidden || root.hasChildNodes()) drawing.draw(root, trace, state, actions);
  },
};
