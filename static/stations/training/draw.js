/** The frame of the tabs. */

import { own, tabOf, tabsOf } from "../../data/training.js";
import { segment } from "../../ui/controls.js";
import { h, perRoot } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { drawAlike } from "./alike.js";
import { drawForcing } from "./forcing.js";
import { drawRecipe } from "./recipe.js";

/** @import { View } from "../index.js" */

const TABS = { forcing: drawForcing, recipe: drawRecipe, alike: drawAlike };
const NAMES = /** @type {const} */ (["forcing", "recipe", "alike"]);

const partsOf = perRoot((root) => {
  const tabs = segment(t("training.tabs"), NAMES, "training", (name) => t(`training.tab.${name}`));
  const place = (name) => h("div", { class: "station-body", dataset: { part: name } });
  const places = Object.fromEntries(NAMES.map((name) => [name, place(name)]));
  root.append(h("div", { class: "bar" }, h("h1", null, t("training.title")), h("span", { class: "grow" }), tabs.box));
  root.append(...Object.values(places));
  return { tabs, places };
});

/** @type {View["draw"]} */
export function draw(root, trace, state, actions) {
  const { tabs, places } = partsOf(root);
  const open = tabOf(state, trace.model);
  tabs.box.hidden = tabsOf(trace.model).length < 2;
  const pick = (name) => actions.set(own.patch({ tab: name }));
  tabs.show(open, pick, (name) => tabsOf(trace.model).includes(name));
  for (const name of NAMES) places[name].hidden = name !== open;
  TABS[open](places[open], trace, state, actions);
}
