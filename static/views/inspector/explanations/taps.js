/** The tensors and parameters that the explanations read, known before their code is loaded. No DOM. */

import { attentionOf, has, identityOf, parameterOf, stackOf, tapOf, wordOf } from "../../../model/description.js";
import { isKnown } from "../../../model/identities.js";
import { featureOf } from "../../../model/selection.js";
import { shownRole } from "../../computation/steps.js";
import { openFfn } from "../../ffn/data.js";

/**
 * @import { Model, Norm } from "../../../model/description.js"
 * @import { State } from "../../../state/store.js"
 */

/** W_O, which is not in a saved trace: there the step that needs it is left out. @param {State} state @param {Model} model @returns {string|null} */
export const outputOf = (state, model) => parameterOf(attentionOf(model, state.attention), state.layer, "w_o");

/** The LayerNorms of the open block, and the one after the last block: [word, norm]. @param {State} state @param {Model} model @returns {[string, Norm][]} */
export function openNorms(state, model) {
  const { embedding, layers, final_norm: last } = stackOf(model, attentionOf(model, state.attention));
  const own = layers[state.layer].sublayers
    .filter(({ norm }) => norm)
    .map((one) => /** @type {[string, any]} */ ([wordOf(model, one), one.norm]));
  const first = /** @type {[string, any][]} */ (embedding.norm ? [["start", embedding.norm]] : []);
  return [...own, ...first, .../** @type {[string, any][]} */ (last ? [["final", last]] : [])];
}

/** The role that the open station shows: that of the walk's step, else the overview, else what the attention adds to the stream. `feature`: the chosen one, where the station has one; otherwise any column may be. @param {State} state @param {Model} model */
export function shownRoleOf(state, model) {
  const attention = attentionOf(model, state.attention);
  const gated = state.view === "gate" && has(attention, "z") ? "z" : null;
  const role = shownRole(model, state) ?? gated ?? attention.overview ?? "attn_out";
  const feature = gated ? featureOf(state, attention) : null;
  return { attention, role, identity: identityOf(attention, role), feature };
}

/** What it is made of: roles are tensors of the run, all else parameters. @param {State} state @param {Model} model @returns {Object<string, ["tensor"|"weight", string]>} */
export function roleNames(state, model) {
  const { attention, role, identity } = shownRoleOf(state, model);
  const all = [role, ...(isKnown(identity) ? (identity?.of ?? []) : [])];
  const name = (/** @type {string} */ one) =>
    has(attention, one)
      ? ["tensor", tapOf(attention, state.layer, one)]
      : ["weight", parameterOf(attention, state.layer, one)];
  return Object.fromEntries(all.map((one) => [one, name(one)]).filter(([, [, found]]) => found));
}

/** The names of the tensors that an FFN reads and computes, and of its parameters: in the open layer and the stack of the open attention. @param {State} state @param {Model} model */
export function unitNames(state, model) {
  const { input, pre, post, up, parameters, place, activation, mixes } = openFfn(state, model);
  return {
    taps: { input, pre, post, ...(up === null ? {} : { up }) },
    weights: { w1: parameters.w_1, b1: parameters.b_1 ?? null, w2: parameters.w_2 },
    place,
    activation,
    mixes,
  };
}
