/** The frame of the tabs. */

import { tabOf, tabsOf, trainingState } from "../../data/training.js";
import { gapBetween, peersOf, productsOf, spreadOf } from "../../model/trainings.js";
import { segment } from "../../ui/controls.js";
import { h, keepingFocus, perRoot, replace, scrolling, tableHead } from "../../ui/dom.js";
import { differenceOf } from "../../ui/family_shape.js";
import { integer, number, signed } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { drawLengths } from "../lengths.js";
import { nameOfPart, part } from "../parts.js";
import { drawForcing } from "./forcing.js";
import { drawRecipe } from "./recipe.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Known } from "../../model/trainings.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions, View } from "../view.js"
 */

/** The models that were trained alike: what each does otherwise, and how good it became. */
const COLUMNS = /** @type {const} */ ([
  "model",
  "bits",
  "gap",
  "repeated",
  "speed",
  "parameters",
  "products",
  "differs",
]);

const alikePartsOf = perRoot((root) => {
  const [table, lengths] = [part("alike"), part("lengths")];
  root.append(table.element, lengths.element);
  return { table, lengths };
});

/** @param {HTMLElement} place @param {ModelTrace} trace @param {State} _ @param {Actions} actions */
function drawAlike(place, trace, _, actions) {
  const { table, lengths } = alikePartsOf(place);
  const peers = peersOf(actions.models, /** @type {Known} */ (trace.model));
  const { tokens_seen: tokens } = trace.model.card;
  nameOfPart(table, t("alike.title"), t("alike.about", { tokens: integer(tokens), model: peers[0]?.name ?? "" }));
  const choose = (/** @type {string} */ model) => void actions.openModel(model);
  keepingFocus(table.place, () => {
    replace(table.place, scrolling(t("alike.title"), tableOf(peers, trace.model.name, choose)));
  });
  replace(table.said, ...saidOf(peers).flatMap((one) => [one, " "]));
  drawLengths(lengths, trace, actions);
}

/** What the columns mean, and how far chance alone moves them. @param {Known[]} peers @returns {string[]} */
function saidOf(peers) {
  const [spread, unmasked] = [
    spreadOf(peers),
    peers.find((one) => one.card.evaluation?.loss_whole_window !== undefined),
  ];
  const chance = spread
    ? t("alike.seeds", { n: spread.models.length, spread: number(spread.size, 3), models: spread.models.join(", ") })
    : t("alike.once");
  const timed = peers.find((one) => one.card.speed);
  const speed = timed ? t("alike.speed", { model: timed.card.speed.like, hardware: timed.card.speed.hardware }) : "";
  const said = [t("alike.measured"), chance, t("alike.columns"), speed].filter(Boolean);
  if (!unmasked) return said;
  const { loss_whole_window: whole, loss } = unmasked.card.evaluation;
  return [...said, t("alike.unmasked", { model: unmasked.name, nats: number(whole, 2), prefix: number(loss, 1) })];
}

/** @param {Known[]} peers @param {string} open @param {(name: string) => void} choose */
function tableOf(peers, open, choose) {
  const spread = spreadOf(peers);
  const there = { gap: spread !== null, speed: peers.some((one) => one.card.speed) };
  const columns = COLUMNS.filter((name) => !(name in there) || there[/** @type {keyof typeof there} */ (name)]);
  const head = tableHead(columns.map((name) => t(`alike.column_${name}`, { model: peers[0]?.name ?? "" })));
  const rows = peers.map((one) => {
    const { bits_per_byte: bits, loss_on_repeated_tokens: repeated } = one.card.evaluation;
    const button = h(
      "button",
      { type: "button", class: "link", dataset: { focus: `alike-${one.name}` }, on: { click: () => choose(one.name) } },
      one.name,
    );
    const isBaseline = one === peers[0];
    const times = isBaseline ? 1 : one.card.speed?.times;
    const cells = {
      bits: number(bits, 3),
      gap: spread && !isBaseline ? gapSaid(gapBetween(one, peers[0], spread)) : "",
      repeated: number(repeated, 2),
      speed: times === undefined ? "–" : `${number(times, 1)} ×`,
      parameters: integer(one.n_parameters),
      products: productsOf(one),
      differs: isBaseline ? t("alike.baseline") : differenceOf(one),
    };
    return h(
      "tr",
      { class: one.name === open ? "open" : null, dataset: { testid: "alike", model: one.name, bits } },
      h("th", { scope: "row" }, one.name === open ? one.name : button),
      columns.filter((name) => name !== "model").map((name) => h("td", { dataset: { column: name } }, cells[name])),
    );
  });
  return h("table", { class: "token-table costs alike" }, head, h("tbody", null, rows));
}

/** @param {{gap: number, none: boolean}} gap */
const gapSaid = ({ gap, none }) => (none ? t("alike.none") : signed(gap, 3));

const TABS = { forcing: drawForcing, recipe: drawRecipe, alike: drawAlike };
const NAMES = /** @type {const} */ (["forcing", "recipe", "alike"]);

const elementsOf = perRoot((root) => {
  const tabs = segment(t("training.tabs"), NAMES, "training", (name) => t(`training.tab.${name}`));
  const place = (/** @type {string} */ name) => h("div", { class: "station-body", dataset: { part: name } });
  const places = Object.fromEntries(NAMES.map((name) => [name, place(name)]));
  root.append(h("div", { class: "bar" }, h("h1", null, t("training.title")), h("span", { class: "grow" }), tabs.box));
  root.append(...Object.values(places));
  return { tabs, places };
});

/** @type {View["draw"]} */
export function draw(root, trace, state, actions) {
  const { tabs, places } = elementsOf(root);
  const open = tabOf(state, trace.model);
  tabs.box.hidden = tabsOf(trace.model).length < 2;
  tabs.show(
    open,
    (name) => actions.set(trainingState.patch({ tab: name })),
    (name) => tabsOf(trace.model).includes(name),
  );
  for (const name of NAMES) places[name].hidden = name !== open;
  TABS[open](places[open], trace, state, actions);
}
