/**
 * What the inspector can explain, by name. To add one: a file with `export default {needs, draw}` (as in a view), a
 * line here, and its name as the `why` of the views it belongs to.
 */

import { hasRoles } from "../../../model/needs.js";
import logit from "./logit.js";
import norm from "./norm.js";
import role from "./role.js";
import unit from "./unit.js";
import weight from "./weight.js";
import z from "./z.js";

/** @typedef {Pick<import("../../../stations/index.js").View, "needs"|"draw"|"roles"|"has"> & {gives?: import("../../../stations/index.js").Given}} Explanation */

/** @type {Object<string, Explanation>} */
export const EXPLANATIONS = { weight, z, unit, norm, logit, role };

/**
 * The name of the explanation of what is chosen in the open station.
 * @param {import("../../../stations/index.js").View[]} views @param {import("../../../state/store.js").State} state @param {any} model
 */
export function explainedBy(views, state, model) {
  const view = views.find(({ id }) => id === state.view);
  const asked = typeof view?.why === "function" ? view.why(state, model) : (view?.why ?? "weight");
  const name = asked in EXPLANATIONS ? asked : "weight";
  const { roles = [], has = () => true } = EXPLANATIONS[name];
  return hasRoles(roles, model, state) && has(model) ? name : "role"; // which every mechanism has
}

/** That explanation. @param {import("../../../stations/index.js").View[]} views @param {import("../../../state/store.js").State} state @param {any} model @returns {Explanation} */
export const explanationOf = (views, state, model) => EXPLANATIONS[explainedBy(views, state, model)];
