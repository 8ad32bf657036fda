/** The river: the whole model as one picture. Widths are rolled-out contributions; darkness is the effect of a knockout. */

import { lazily } from "../data/lazily.js";
import { answeringStack, answersTokens, can } from "../model/description.js";
import { atLeast } from "../state/page_fields.js";
import { h, perRoot, setText, update } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { headNeeds, loadHead } from "./open_head.js";
import { riverState } from "./view_state.js";

/**
 * @import { Model } from "../model/description.js"
 * @import { State } from "../state/store.js"
 * @import { Panel } from "../stations/view.js"
 */

const drawing = lazily(() => import("./river.js"));

/**
 * Whether the river is not shown: at Understand, which is about its stations; where the reader has hidden it; and while a
 * quiz asks for the answer that it shows.
 * @param {State} state
 */
export function away(state) {
  if (!atLeast(state, "understand")) return false;
  return !atLeast(state, "everything") || !riverState.of(state).shown || state.quiz;
}

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
  viewState: riverState,
  needs(state, model) {
    if (away(state)) return [];
    return [
      ...(answersTokens(model) ? ["prediction"] : []),
      "explain:route",
      "without_knockouts",
      ...headNeeds(state, model),
    ];
  },
  also: (state, model) => (away(state) ? [] : [...(readsLayers(state, model) ? ["explain:lens"] : []), "head_rows"]),
  load: async (state, model) => {
    if (!state || !away(state)) await Promise.all([drawing.load(), loadHead(state, model)]);
  },
  draw(root, trace, state, actions) {
    root.hidden = away(state);
    if (!root.hidden || root.hasChildNodes()) drawing.draw(root, trace, state, actions);
  },
};

const buttonOf = perRoot((root) => {
  const button = h("button", { class: "btn quiet", type: "button", dataset: { testid: "river-fold" } });
  root.append(button);
  return button;
});

/** The button that hides the river and shows it again. @type {Panel} */
export const foldButton = {
  id: "fold",
  level: "everything",
  frame: { place: "home", className: "river-fold" },
  has: (model) => can(model, "route"),
  shown: ({ quiz }) => !quiz,
  needs: [],
  draw(root, trace, state, actions) {
    const button = buttonOf(root);
    const { shown } = riverState.of(state);
    setText(button, t(shown ? "river.fold" : "river.unfold"));
    update(button, { "aria-expanded": String(shown) });
    button.onclick = () => actions.set(riverState.patch({ shown: !shown }));
  },
};
