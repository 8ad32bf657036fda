/** The same sentence in two models, or in one with and without edits: which two, and what to look at. */

import { besideModel } from "../../model/compare/beside.js";
import { gapBetween, peersOf, productsOf, spreadOf } from "../../model/trainings.js";
import { h, perRoot, replace } from "../../ui/dom.js";
import { number } from "../../ui/format.js";
import { keyFor, phrase, t } from "../../ui/i18n.js";
import { openPair } from "./pick.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Known } from "../../model/trainings.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 */

const elementsOf = perRoot((root) => {
  const [title, about] = [h("h2", null), h("p", { dataset: { testid: "beside-about" } })];
  root.append(title, about);
  return { title, about };
});

/** @param {HTMLElement} root @param {ModelTrace} trace @param {State} state @param {Actions} actions */
export function draw(root, trace, state, actions) {
  const { title, about } = elementsOf(root);
  const pair = openPair(state);
  const [name, other] = [trace.model.name, besideModel(state)];
  root.dataset.reading = other === name ? "beside_runs" : "beside";
  if (other === name) {
    replace(title, phrase(keyFor(trace.model, "beside.runs"), { a: h("b", null, name) }));
    return void replace(about, t("beside.runs_about"));
  }
  replace(title, phrase(keyFor(trace.model, "beside.both"), { a: h("b", null, name), b: h("b", null, String(other)) }));
  const both = [name, other].map((wanted) => actions.models.find((one) => one.name === wanted));
  replace(about, t(pair ? `beside.pair_${pair.id}` : "beside.about"), " ", pair ? figuresOf(both, actions.models) : "");
}

/**
 * How good two models are, whether their gap may be due to chance, and whether they were trained in different precisions.
 * @param {any[]} both @param {Known[]} models  all that are known
 */
export function figuresOf(both, models) {
  const bits = both.map(bitsOf).filter((one) => one !== null);
  if (bits.length < both.length) return "";
  const [a, b] = both.map(productsOf);
  const said = [t("beside.figures", { a: bits[0], b: bits[1] }), chanceOf(both, peersOf(models, both[0]))];
  if (a && b && a !== b) said.push(t("beside.products", { a, b }));
  return said.join(" ");
}

/** @param {any[]} both @param {Known[]} peers */
function chanceOf([one, other], peers) {
  const spread = spreadOf(peers);
  if (!spread) return t("beside.once");
  const { none } = gapBetween(one, other, spread);
  return t(none ? "beside.gap_none" : "beside.gap", { spread: number(spread.size, 3) });
}

/** A model's figure on its card. @param {any} model @returns {string|null} */
function bitsOf(model) {
  const bits = model?.card?.evaluation?.bits_per_byte;
  return Number.isFinite(bits) ? number(bits, 3) : null;
}
