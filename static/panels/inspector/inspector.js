/** The inspector: the arithmetic of what is chosen in the open station, on the model's own numbers. */

import { VIEWS } from "../../stations/index.js";
import { h, replace } from "../../ui/dom.js";
import { EXPLANATIONS, explanationOf } from "./explanations/index.js";
import { own } from "./own.js";

/** @type {WeakMap<HTMLElement, Map<any, HTMLElement>>} each explanation has its own element */
const places = new WeakMap();

export default {
  id: "inspector",
  frame: { place: "right", className: "panel inspector", title: "inspector.title" },
  own,
  /** A station that has nothing to explain has no inspector. */
  has: (model, state) => explanationOf(VIEWS, state, model) !== null,
  needs(state, model) {
    const needs = explanationOf(VIEWS, state, model)?.needs ?? [];
    return typeof needs === "function" ? needs(state, model) : needs;
  },
  load: (state, model) =>
    Promise.all(
      (state ? [explanationOf(VIEWS, state, model)] : Object.values(EXPLANATIONS)).map((one) => one?.load?.()),
    ),
  draw(root, trace, state, actions) {
    const explanation = explanationOf(VIEWS, state, trace.model);
    const place = placeOf(root, explanation);
    for (const other of root.children) /** @type {HTMLElement} */ (other).hidden = other !== place;
    explanation?.draw(place, trace, state, actions);
  },
};

/** @param {HTMLElement} root @param {any} explanation */
function placeOf(root, explanation) {
  if (!places.has(root)) {
    const made = Object.entries(EXPLANATIONS).map(([name, one]) => [one, h("div", { dataset: { explanation: name } })]);
    places.set(root, new Map(/** @type {any} */ (made)));
    replace(root, ...made.map(([, place]) => place));
  }
  return /** @type {HTMLElement} */ (places.get(root)?.get(explanation));
}
