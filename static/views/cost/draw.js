/** What one layer's attention costs as the text grows, in every mechanism: by formula, and measured on request. */

import { drawLogChart } from "../../chart/curves/log_chart.js";
import { measureCosts } from "../../data/streams.js";
import { buildFold, segment } from "../../ui/controls.js";
import { h, keepingFocus, perRoot, replace, setText, update } from "../../ui/dom.js";
import { errorText, integer } from "../../ui/format.js";
import { keyFor, t } from "../../ui/i18n.js";
import { buildPlainStation, drawFormula } from "../parts.js";
import { COST_LENGTHS, COST_SHOWN, costState } from "../view_states.js";
import { costTable, counted, termsTable, timed, timesTable } from "./chart.js";
import { costFormula, costOf, count, filledOf, formName, megabytes } from "./counts.js";

/**
 * @import { Timing, TimingStart } from "../../data/streams.js"
 * @import { Draw } from "../view.js"
 * @import { Cost, Term } from "./counts.js"
 */

// One measurement at a time: begun and stopped by the reader, its points kept until the next.

/**
 * @typedef {Object} Measured
 * @property {TimingStart|null} start
 * @property {Timing[]} points
 * @property {string|null} model  whose width it has
 * @property {boolean} running
 * @property {unknown} error
 */

/** @returns {Measured} */
const nothing = () => ({ start: null, points: [], model: null, running: false, error: null });

/** @param {() => void} onChange  there is something new */
function createMeasuring(onChange) {
  let control = new AbortController();
  let measured = nothing();

  /** @param {string|null} model */
  async function begin(model) {
    control.abort();
    control = new AbortController();
    const [measurement, { signal }] = [{ ...nothing(), model, running: true }, control];
    measured = measurement;
    onChange();
    try {
      await measureCosts(model, {
        signal,
        onStart: (start) => Object.assign(measurement, { start }),
        onPoint(point) {
          measurement.points.push(point);
          if (measured === measurement) onChange();
        },
      });
    } catch (error) {
      if (!signal.aborted) measurement.error = error;
    }
    measurement.running = false;
    if (measured === measurement) onChange();
  }

  return {
    begin,
    stop: () => control.abort(),
    /** Of this model; another one has another width. @param {string|null} model */
    of: (model) => (measured.model === model ? measured : nothing()),
  };
}

/** The worked example's tokens. */
const LONG = 10_000;

const elementsOf = perRoot((root) => {
  const shown = segment(t("cost.shown"), COST_SHOWN, "cost", (name) => t(`cost.shown_${name}`));
  const station = buildPlainStation(root, t("cost.title"), shown.box);
  const at = segment(t("cost.at"), COST_LENGTHS, "cost-at", () => ""); // they are said with their numbers
  const button = h("button", { class: "btn", type: "button", dataset: { testid: "cost-measure" } });
  const [about, said, skew] = [h("p", { class: "dim" }), h("p", { class: "said", role: "status" }), h("p")];
  const measure = h("p", { class: "cost-measure" }, button, " ", said);
  const [chart, table, worked] = [h("div", { class: "cost-chart" }), h("div", null), h("p", { class: "said" })];
  const [termsOf, terms] = [h("span", null), h("div", null)];
  const fold = buildFold("cost-terms", termsOf, terms);
  const choose = h("p", { class: "cost-at" }, at.box);
  replace(station.body, measure, chart, choose, table, about, skew, fold, worked);
  const parts = {
    ...station,
    shown,
    at,
    choose,
    button,
    about,
    skew,
    said,
    measure,
    chart,
    table,
    worked,
    fold,
    termsOf,
    terms,
  };
  const again = { draw: () => {} };
  return { ...parts, again, measuring: createMeasuring(() => again.draw()) };
});

/** @typedef {ReturnType<typeof elementsOf>} Parts */

/** @type {Draw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const { shown, at } = costState.of(state);
  const cost = /** @type {Cost} */ (trace.explained.cost);
  const lengths = { sentence: trace.queries.tokens.length, window: trace.model.max_seq_len, long: LONG };
  const place = { n: lengths.sentence, window: lengths.window };
  parts.shown.show(shown, (name) => actions.set(costState.patch({ shown: name })));
  parts.at.show(at, (name) => actions.set(costState.patch({ at: name })));
  for (const name of COST_LENGTHS)
    setText(parts.at.buttons[name], t(keyFor(trace.model, `cost.at_${name}`), { n: integer(lengths[name]) }));
  const what = shown === "space" ? "space" : "time";
  drawStrip(parts, cost, keyFor(trace.model, `cost.strip_${what}`), what, lengths.sentence);
  const isMeasured = shown === "measured";
  update(parts.measure, { hidden: !isMeasured });
  update(parts.choose, { hidden: isMeasured });
  const again = () => drawMeasured(parts, trace.model.name, cost.own, place);
  parts.again.draw = isMeasured ? again : () => {};
  if (isMeasured) again();
  else {
    drawLogChart(parts.chart, counted(cost, shown, place));
    keepingFocus(parts.table, () => replace(parts.table, costTable(cost, lengths[at])));
    drawTerms(parts, cost, lengths[at]);
    setText(parts.worked, workedOf(cost));
    setText(parts.skew, skewOf(cost, lengths[at]));
  }
  setText(parts.about, t(isMeasured ? "cost.about_measured" : `cost.about_${shown}`));
  if (!isMeasured) parts.chart.hidden = false;
  parts.worked.hidden = parts.fold.hidden = isMeasured;
  parts.skew.hidden = shown !== "space" || !parts.skew.textContent;
}

/**
 * The formula of the model's own mechanism, with the sentence's numbers.
 * @param {Parts} parts @param {Cost} cost @param {string} key @param {"time"|"space"} what @param {number} n
 */
function drawStrip({ formula }, { own: name, sizes, forms }, key, what, n) {
  const form = forms.find((one) => one.name === name) ?? forms[0];
  const terms = what === "time" ? form.multiplications : form.numbers;
  const total = costOf(form, what, n, sizes);
  const result = what === "time" ? integer(total) : `${integer(total / 4)} × 4 B = ${megabytes(total)}`;
  drawFormula(formula, {
    formula: h(
      "span",
      { class: "mono cost-formula" },
      `${costFormula(terms)} = ${filledOf(terms, n, sizes)} = ${result}`,
    ),
    note: t(key, { form: formName(form.name), n: integer(n) }),
  });
}

/** How the model's own mechanism is counted. @param {Parts} parts @param {Cost} cost @param {number} n */
function drawTerms({ termsOf, terms }, { own: name, sizes, forms }, n) {
  const form = forms.find((one) => one.name === name) ?? forms[0];
  setText(termsOf, t("cost.terms_of", { form: formName(form.name), n: integer(n) }));
  keepingFocus(terms, () => replace(terms, termsTable(form, n, sizes)));
}

/** @param {Cost} cost */
function workedOf({ sizes }) {
  const d = sizes.d / sizes.h;
  return t("cost.worked", { d, h: sizes.h, total: megabytes(4 * sizes.h * LONG ** 2) });
}

/**
 * What the skew holds, beside what the formula as it is written would; empty for a model without one.
 * @param {Cost} cost @param {number} n
 */
function skewOf({ own: name, sizes, forms }, n) {
  const { skewed = [], naive = [] } = forms.find((one) => one.name === name) ?? {};
  if (!naive.length) return "";
  const told = (/** @type {Term[]} */ terms) =>
    `${costFormula(terms)} × 4 B = ${megabytes(4 * count(terms, n, sizes))}`;
  return t("cost.skew", { n: integer(n), naive: told(naive), skewed: told(skewed) });
}

/**
 * @param {Parts} parts @param {string} model @param {string|null} ownForm @param {{n: number, window: number}} place
 */
function drawMeasured(parts, model, ownForm, place) {
  const measured = parts.measuring.of(model);
  const { start, points, running, error } = measured;
  setText(parts.button, t(running ? "cost.stop" : points.length ? "cost.again" : "cost.measure"));
  parts.button.onclick = () => (running ? parts.measuring.stop() : void parts.measuring.begin(model));
  const done = { n: points.length, of: start ? start.forms.length * start.lengths.length : 0 };
  const machine = start ? t("cost.machine", { device: start.device, n: start.threads }) : "";
  setText(parts.said, error ? errorText(error) : running ? t("cost.measuring", done) : machine);
  parts.chart.hidden = points.length === 0;
  if (points.length) drawLogChart(parts.chart, timed(measured, ownForm, place));
  replace(parts.table, timesTable(measured, ownForm));
}
