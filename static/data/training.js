/** What the training station shows, for which models, and where the draws of its dropout begin. No DOM. */

import { can } from "../model/description.js";
import { choice, index } from "../state/fields.js";
import { viewState } from "../state/view_state.js";

/**
 * @import { ViewStates } from "../state/view_state.js"
 * @import { ModelTrace } from "./model_trace.js"
 */

/** `row`: whose prefix is compared, null: an early one; it stays while more is typed. `seed`: of the first run with dropout. */
export const trainingState = viewState("training", {
  tab: choice("forcing", "recipe", "alike"),
  row: index(null),
  seed: index(0),
});

/** The row that is compared where none was chosen: the same one as a sentence grows. */
const EARLY = 4;

/** @param {{viewState: ViewStates}} state @param {Pick<ModelTrace, "written">} trace */
export function prefixRow(state, { written }) {
  const last = (written?.tokens.length ?? 1) - 1;
  return Math.min(trainingState.of(state).row ?? EARLY, last);
}

/** Whether its losses can be computed: it predicts a next token, and training could reach it. @param {any} model */
const isForced = (model) => model.description.predicts === "next" && can(model, "gradients");

/** The cards of our models have their recipe, and say which other models were trained alike. @param {any} model @returns {("forcing"|"recipe"|"alike")[]} */
export const tabsOf = (model) => [
  ...(isForced(model) ? [/** @type {const} */ ("forcing")] : []),
  ...(model.card?.recipe ? [/** @type {const} */ ("recipe")] : []),
  ...(model.card?.trained_like && !model.snapshot_of ? [/** @type {const} */ ("alike")] : []),
];

/** The open tab. @param {{viewState: ViewStates}} state @param {any} model */
export function tabOf(state, model) {
  const { tab } = trainingState.of(state);
  return tabsOf(model).includes(tab) ? tab : (tabsOf(model)[0] ?? tab);
}

/** Whether it was trained with dropout, and its losses can be computed. @param {any} model */
export const drops = (model) => isForced(model) && model.dropout > 0;
