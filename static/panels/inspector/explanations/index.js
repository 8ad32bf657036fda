/**
 * What the inspector can explain, by name. To add one: a file with `export default {needs, draw}` (as a view has them),
 * a line here, and its name as the `why` of the views that it belongs to.
 */

import logit from "./logit.js";
import norm from "./norm.js";
import unit from "./unit.js";
import weight from "./weight.js";
import z from "./z.js";

/** @typedef {Pick<import("../../../stations/index.js").View, "needs"|"draw">} Explanation */

/** @type {Object<string, Explanation>} */
export const EXPLANATIONS = { weight, z, unit, norm, logit };

/**
 * The name of the explanation of what is chosen in the open station.
 * @param {import("../../../stations/index.js").View[]} views @param {import("../../../state/store.js").State} state @param {any} model
 */
export function explainedBy(views, state, model) {
  const view = views.find(({ id }) => id === state.view);
  const name = typeof view?.why === "function" ? view.why(state, model) : (view?.why ?? "weight");
  return name in EXPLANATIONS ? name : "weight";
}

/** That explanation. @param {import("../../../stations/index.js").View[]} views @param {import("../../../state/store.js").State} state @param {any} model @returns {Explanation} */
export const explanationOf = (views, state, model) => EXPLANATIONS[explainedBy(views, state, model)];
