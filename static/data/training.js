/** What the training station shows, for which models, and where the draws of its dropout begin. No DOM. */

import { choice, index } from "../state/fields.js";
import { ownState } from "../state/own.js";

/** `row`: whose prefix is compared, null: the middle; `seed`: of the first run with dropout. */
export const own = ownState("training", {
  tab: choice("forcing", "recipe"),
  row: { ...index(null), until: "sentence" },
  seed: index(0),
});

/** @param {import("../state/store.js").State} state @param {import("./model_trace.js").ModelTrace} trace */
export function prefixRow(state, { written }) {
  const last = (written?.tokens.length ?? 1) - 1;
  return Math.min(own.of(state).row ?? Math.floor(last / 2), last);
}

/** A model that predicts a next token is forced to read its labels; a recipe is on the card of a model of ours. @param {any} model @returns {("forcing"|"recipe")[]} */
export const tabsOf = (model) => [
  ...(model.description.predicts === "next" ? [/** @type {const} */ ("forcing")] : []),
  ...(model.card?.recipe ? [/** @type {const} */ ("recipe")] : []),
];

/** The open one. @param {{own: import("../state/own.js").OwnValues}} state @param {any} model */
export function tabOf(state, model) {
  const { tab } = own.of(state);
  return tabsOf(model).includes(tab) ? tab : (tabsOf(model)[0] ?? tab);
}

/** Whether it was trained with dropout, and its losses can be told. @param {any} model */
export const drops = (model) => model.description.predicts === "next" && model.dropout > 0;
