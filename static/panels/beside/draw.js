/** The same sentence in two models: which, and what to look at. */

import { h, perRoot, replace } from "../../ui/dom.js";
import { phrase, t } from "../../ui/i18n.js";
import { openPair } from "./pairs.js";

const partsOf = perRoot((root) => {
  const [title, about] = [h("h2", null), h("p", { dataset: { testid: "beside-about" } })];
  root.append(title, about);
  return { title, about };
});

/** @param {HTMLElement} root @param {import("../../data/model_trace.js").ModelTrace} trace @param {import("../../state/store.js").State} state */
export function draw(root, trace, state) {
  const { title, about } = partsOf(root);
  const pair = openPair(state);
  const names = { a: h("b", null, trace.model.name), b: h("b", null, String(state.beside?.model)) };
  replace(title, phrase("beside.both", names));
  replace(about, t(pair ? `beside.pair_${pair.id}` : "beside.about"));
}
