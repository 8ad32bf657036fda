/** The models that were trained alike: what each does otherwise, and how good it became. */

import { kinOf, likeOf, productsOf } from "../../model/alike.js";
import { h, keepingFocus, perRoot, replace } from "../../ui/dom.js";
import { differenceOf } from "../../ui/family_shape.js";
import { integer, number } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { scrolling, tableHead } from "../../ui/table.js";
import { nameOfPart, part } from "../activation_parts.js";
import { drawLengths } from "../lengths.js";

/** @typedef {import("../../model/alike.js").Known} Known */

const COLUMNS = /** @type {const} */ (["model", "bits", "repeated", "parameters", "products", "differs"]);

const partsOf = perRoot((root) => {
  const [table, lengths] = [part("alike"), part("lengths")];
  root.append(table.element, lengths.element);
  return { table, lengths };
});

/** @param {HTMLElement} place @param {import("../../data/model_trace.js").ModelTrace} trace @param {any} _ @param {import("../index.js").Actions} actions */
export function drawAlike(place, trace, _, actions) {
  const { table, lengths } = partsOf(place);
  const kin = kinOf(actions.models, /** @type {Known} */ (trace.model));
  const { tokens_seen: tokens } = trace.model.card;
  nameOfPart(table, t("alike.title"), t("alike.about", { tokens: integer(tokens), model: kin[0]?.name ?? "" }));
  const choose = (model) => void actions.openModel(model);
  keepingFocus(table.place, () => {
    replace(table.place, scrolling(t("alike.title"), tableOf(kin, trace.model.name, choose)));
  });
  const unmasked = kin.find((one) => one.card.evaluation?.loss_whole_window !== undefined);
  const whole = unmasked && { model: unmasked.name, nats: number(unmasked.card.evaluation.loss_whole_window, 2) };
  const prefix = unmasked && { prefix: number(unmasked.card.evaluation.loss, 1) };
  replace(table.said, t("alike.chance"), " ", unmasked ? t("alike.unmasked", { ...whole, ...prefix }) : "");
  drawLengths(lengths, trace, actions);
}

/** @param {Known[]} kin @param {string} open @param {(name: string) => void} choose */
function tableOf(kin, open, choose) {
  const head = tableHead(COLUMNS.map((name) => t(`alike.column_${name}`)));
  const rows = kin.map((one) => {
    const { bits_per_byte: bits, loss_on_repeated_tokens: repeated } = one.card.evaluation;
    const button = h(
      "button",
      { type: "button", class: "link", dataset: { focus: `alike-${one.name}` }, on: { click: () => choose(one.name) } },
      one.name,
    );
    const differs = likeOf(one)?.model === one.name ? t("alike.baseline") : differenceOf(one);
    return h(
      "tr",
      { class: one.name === open ? "open" : null, dataset: { testid: "alike", model: one.name, bits } },
      h("th", { scope: "row" }, one.name === open ? one.name : button),
      [number(bits, 3), number(repeated, 2), integer(one.n_parameters), productsOf(one), differs].map((cell) =>
        h("td", null, cell),
      ),
    );
  });
  return h("table", { class: "token-table costs alike" }, head, h("tbody", null, rows));
}
