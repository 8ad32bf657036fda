/** The loss at the end of texts longer than any in training: the open model's, and those of others trained alike. */

import { drawLogChart } from "../chart/curves/log_chart.js";
import { beyondOf, lengthPeers, lengthsOf } from "../model/trainings.js";
import { h, keepingFocus, perRoot, replace, scrolling, tableHead } from "../ui/dom.js";
import { integer, number, signed } from "../ui/format.js";
import { t } from "../ui/i18n.js";
import { drawFolded, nameOfPart } from "./parts.js";

/**
 * @import { Chart } from "../chart/curves/log_chart.js"
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Known, Lengths } from "../model/trainings.js"
 * @import { Part } from "./parts.js"
 * @import { Actions } from "./view.js"
 */

/** How many curves have distinct styles (css/cost.css). */
const LOOKS = 12;

const elementsOf = perRoot((root) => {
  const [chart, table] = [h("div", null), h("div", null)];
  root.append(chart, table);
  return { chart, table };
});

/** Hidden where the card has no such figures. @param {Part} place @param {ModelTrace} trace @param {Actions} actions */
export function drawLengths(place, trace, actions) {
  const model = /** @type {Known} */ (trace.model);
  const own = lengthsOf(model);
  place.element.hidden = !own;
  if (!own) return;
  const peers = lengthPeers(actions.models, model);
  const models = [...peers.filter(({ name }) => name !== model.name), model]; // its own curve on top
  const parts = elementsOf(place.place);
  const counts = { n: own.n_scored, passages: own.n_passages, documents: own.n_documents };
  const about = { ...counts, window: integer(model.max_seq_len) };
  nameOfPart(place, t("lengths.title"), t("lengths.about", about));
  drawLogChart(parts.chart, chartOf(models, model));
  keepingFocus(parts.table, () => drawFolded(parts.table, scrolling(t("lengths.table"), tableOf(models))));
  replace(place.said, lengthWords(model));
}

/** @param {Known[]} models @param {Known} own @returns {Chart} */
function chartOf(models, own) {
  const columns = models.map((one) => /** @type {Lengths} */ (lengthsOf(one)));
  const [lengths, losses] = [columns.flatMap(({ length }) => length), columns.flatMap(({ loss }) => loss)];
  const ticks = [...new Set(lengths)].filter((n) => Number.isInteger(Math.log2(n))).sort((a, b) => a - b);
  return {
    id: "lengths",
    title: t("lengths.title"),
    label: t("lengths.label", { models: models.map(({ name }) => name).join(t("compare.comma")) }),
    even: true,
    across: [Math.min(...lengths), Math.max(...lengths)],
    up: [Math.min(...losses), Math.max(...losses)],
    ticks,
    titles: { x: t("lengths.axis_tokens"), y: t("lengths.axis_loss") },
    word: (value) => number(value, 2),
    curves: models.map((one, i) => ({
      name: one.name,
      look: `place-${i % LOOKS}${one === own ? " own" : ""}`,
      dots: true,
      points: columns[i].length.map((x, at) => ({ x, y: columns[i].loss[at] })),
    })),
    marks: [{ x: own.max_seq_len, name: t("lengths.window", { n: own.max_seq_len }), look: "window-mark" }],
  };
}

/** @param {Known[]} models */
function tableOf(models) {
  const all = models.map((one) => /** @type {Lengths} */ (lengthsOf(one)));
  const lengths = [...new Set(all.flatMap(({ length }) => length))].sort((a, b) => a - b);
  const head = tableHead([t("lengths.model"), ...lengths.map((n) => integer(n))]);
  const cell = (/** @type {Lengths} */ { length, loss }, /** @type {number} */ n) =>
    h("td", null, length.includes(n) ? number(loss[length.indexOf(n)], 3) : "");
  const rows = models.map((one, i) =>
    h(
      "tr",
      { dataset: { testid: "lengths", model: one.name } },
      h("th", { scope: "row" }, one.name),
      lengths.map((n) => cell(all[i], n)),
    ),
  );
  return h("table", { class: "token-table costs" }, head, h("tbody", null, rows));
}

/** @param {Known} model */
export function lengthWords(model) {
  const { kind, length, apart, error } = beyondOf(model);
  const digits = error > 0 ? Math.max(2, -Math.floor(Math.log10(error))) : 2; // the error has at least one
  const by = kind === "same" ? signed(apart, digits) : number(Math.abs(apart), digits);
  const figures = { length: integer(length), window: integer(model.max_seq_len), apart: by };
  return t(`lengths.${kind}`, { model: model.name, error: number(error, digits), ...figures });
}
