/** The inspector: the arithmetic of what is chosen in the open station, with the model's numbers. */

import { lazily } from "../../data/lazily.js";
import { isDifference, namesBefore } from "../../model/compare/runs.js";
import { answersTokens, attentionOf, can, servesWeights, stacksOf } from "../../model/description.js";
import { hasRoles, normsOf as normsIn, parameterNeeds, tensorNeeds } from "../../model/taps.js";
import { knowsScores, knowsValues, needsOfScores, needsOfWeights, weighsKeys } from "../../model/weight_arithmetic.js";
import { h, perRoot, replace } from "../../ui/dom.js";
import { openAttentionStep } from "../attention/steps.js";
import { VIEWS } from "../index.js";
import { inspectorState } from "../view_states.js";
import { openNorms, outputOf, roleNames, unitNames, writesWords } from "./parts.js";

/**
 * @import { Model } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 * @import { Given, Panel, View } from "../view.js"
 */

// What the inspector can explain, by name. To add one: a file with its `draw`, what it needs here (as in a view), and its
// name as the `inspector` of the views it belongs to.

/**
 * @typedef {Pick<View, "needs"|"also"|"draw"|"load"|"roles"> & {gives?: Given,
 *   has?: (model: any, state: State) => boolean}} Explanation  `has`: whether it applies to this model
 */

/** @type {Object<string, Explanation>} */
const EXPLANATIONS = {
  weight: {
    gives: "attention",
    roles: ["q", "k", "v", "scores", "mask", "pattern"],
    has: (model, state) => knowsScores(attentionOf(model, state.attention)),
    needs: (state, model) => [
      "detail",
      ...needsOfScores(attentionOf(model, state.attention), state.layer),
      ...(state.file === null && servesWeights(model) ? parameterNeeds(outputOf(state, model)) : []),
    ],
    also: (state, model) => {
      const heads = isDifference(state) ? ["compared", "explain:changes"] : []; // the head that changed most
      if (!writesWords(state, model)) return heads;
      const both = isDifference(state) || namesBefore(state) ? ["explain:writes_before"] : [];
      return ["explain:writes", ...both, ...heads];
    },
    ...lazily(() => import("./explanations/weight.js")),
  },
  feature: {
    gives: "attention",
    has: (model, state) => weighsKeys(attentionOf(model, state.attention)),
    needs(state, model) {
      const attention = attentionOf(model, state.attention);
      const own = state.view === "computation" || openAttentionStep(attention, state) === "feature";
      return ["detail", "role:gate", "role:z", ...needsOfWeights(attention, state.layer, own)];
    },
    ...lazily(() => import("./explanations/feature.js")),
  },
  z: {
    gives: "attention",
    roles: ["pattern", "v", "z"],
    has: (model, state) => knowsValues(attentionOf(model, state.attention)),
    needs: (state, model) => ["detail", "role:z", ...needsOfScores(attentionOf(model, state.attention), state.layer)],
    ...lazily(() => import("./explanations/z.js")),
  },
  unit: {
    needs(state, model) {
      const { taps, weights: learned } = unitNames(state, model);
      return [...tensorNeeds(...Object.values(taps)), ...parameterNeeds(...Object.values(learned))];
    },
    ...lazily(() => import("./explanations/unit.js")),
  },
  norm: {
    has: (model) => stacksOf(model).some((stack) => normsIn(stack).length > 0),
    needs: (state, model) =>
      openNorms(state, model).flatMap(([, { roles, parameters }]) => [
        ...tensorNeeds(roles.input.tap, roles.out.tap),
        ...parameterNeeds(parameters.gain, parameters.bias),
      ]),
    ...lazily(() => import("./explanations/norm.js")),
  },
  logit: {
    gives: "end",
    has: (model) => can(model, "contributions"),
    needs: (state, model) => ["explain:contributions", ...(answersTokens(model) ? ["prediction"] : [])],
    ...lazily(() => import("./explanations/logit.js")),
  },
  role: {
    needs: (state, model) => Object.values(roleNames(state, model)).map(([kind, name]) => `${kind}:${name}`),
    ...lazily(() => import("./explanations/role.js")),
  },
};

/**
 * The name of the explanation of what is chosen in the open station; null where there is nothing to explain.
 * @param {View[]} views @param {State} state @param {any} model
 */
export function explainedBy(views, state, model) {
  const view = views.find(({ id }) => id === state.view);
  const name = typeof view?.inspector === "function" ? view.inspector(state, model) : view?.inspector;
  if (!name) return null;
  const { roles = [], has = () => true } = EXPLANATIONS[name];
  if (hasRoles(roles, model, state) && has(model, state)) return name;
  return roles.length > 0 ? "role" : null; // a mechanism's own equation, where it has other roles
}

/** That explanation. @param {View[]} views @param {State} state @param {any} model @returns {Explanation|null} */
export const explanationOf = (views, state, model) => EXPLANATIONS[explainedBy(views, state, model) ?? ""] ?? null;

/** In an FFN without a chosen unit, the units that write most are listed in its place. @param {State} state */
const listsUnits = ({ view, ffnUnit, quiz }) => view === "ffn" && ffnUnit === null && !quiz;

export default /** @satisfies {Panel} */ ({
  id: "inspector",
  frame: { place: "right", className: "panel inspector", title: "inspector.title" },
  viewState: inspectorState,
  /** A station that has nothing to explain has no inspector. */
  has: (model, state) => explanationOf(VIEWS, state, model) !== null && !listsUnits(state),
  needs(state, model) {
    const needs = explanationOf(VIEWS, state, model)?.needs ?? [];
    return typeof needs === "function" ? needs(state, model) : needs;
  },
  also: (state, model) => explanationOf(VIEWS, state, model)?.also?.(state, model) ?? [],
  load: (state, model) =>
    Promise.all(
      (state ? [explanationOf(VIEWS, state, model)] : Object.values(EXPLANATIONS)).map((one) => one?.load?.()),
    ),
  draw(root, trace, state, actions) {
    const explanation = explanationOf(VIEWS, state, trace.model);
    const place = /** @type {HTMLElement} */ (placesIn(root).get(explanation));
    for (const other of root.children) /** @type {HTMLElement} */ (other).hidden = other !== place;
    explanation?.draw(place, trace, state, actions);
  },
});

/** The element of each explanation. */
const placesIn = perRoot((root) => {
  const places = Object.entries(EXPLANATIONS).map(
    ([name, one]) =>
      /** @type {[Explanation|null, HTMLElement]} */ ([one, h("div", { dataset: { explanation: name } })]),
  );
  replace(root, ...places.map(([, place]) => place));
  return new Map(places);
});
