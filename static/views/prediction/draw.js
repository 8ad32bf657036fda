/** The frame of both tabs: the title, which of them is open, and a place for each. */

import { segment } from "../../ui/controls.js";
import { h, perRoot, setText } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { PREDICTION_TABS, predictionTabOf, predictionTabsOf } from "../tabs.js";
import { predictionState } from "../view_states.js";

/** @import { Draw } from "../view.js" */

const NAMES = /** @type {const} */ (["token", "layers"]);

const elementsOf = perRoot((root) => {
  /** @template {HTMLElement} E @param {() => E} make */
  const of = (make) => ({ token: make(), layers: make() });
  const tabs = segment(t("next.tabs"), NAMES, "prediction", (name) => t(`next.tab_${name}`));
  const title = h("h1", { class: "sr-only" }); // the path names the place
  const aside = of(() => h("span", { class: "dim" }));
  const places = of(() => h("div", null));
  const reading = h("div", { dataset: { place: "reading" } });
  root.append(h("div", { class: "bar" }, title, tabs.box, Object.values(aside), reading), ...Object.values(places));
  return { title, aside, tabs, places };
});

/** @type {Draw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const open = predictionTabOf(state, trace.model);
  root.dataset.reading = open === "layers" ? "lens" : "prediction";
  setText(parts.title, t(open === "layers" ? "lens.title" : "next.station"));
  parts.tabs.box.hidden = predictionTabsOf(trace.model).length < 2;
  parts.tabs.show(open, (name) => actions.set(predictionState.patch({ tab: name })));
  for (const name of NAMES) {
    for (const one of [parts.aside, parts.places]) one[name].hidden = name !== open;
  }
  root.dataset.wide = String(open === "token"); // its arithmetic is below it
  PREDICTION_TABS[open].draw({ place: parts.places[open], aside: parts.aside[open] }, trace, state, actions);
}
