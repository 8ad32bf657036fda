/** The curves of the station: every mechanism's, the model's own on top. No DOM. */

import { h, scrolling, tableHead } from "../../ui/dom.js";
import { integer } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import {
  costFormula,
  costOf,
  count,
  formName,
  LARGEST_COUNT,
  lengths,
  megabytes,
  millis,
  product,
  tenTo,
  termName,
} from "./counts.js";

/**
 * @import { Chart } from "../../chart/curves/log_chart.js"
 * @import { Cost, Form, Sizes, Term } from "./counts.js"
 * @import { Measured } from "./draw.js"
 */

/** The numbers of the curves: what each mechanism costs at one length, how that is counted, and what was measured. */
const COLUMNS = ["mechanism", "time", "space", "steps", "path", "multiplications", "memory"];

/** @param {Cost} cost @param {number} n  tokens */
export function costTable({ own, sizes, forms }, n) {
  const rows = forms.map((form) => {
    const [time, space] = [costOf(form, "time", n, sizes), costOf(form, "space", n, sizes)];
    const grows = [`O(${form.time})`, `O(${form.space})`, `O(${form.steps})`, `O(${form.path})`];
    const cells = [...grows, integer(time), megabytes(space)];
    const name = [formName(form.name), form.name === own ? h("span", { class: "dim" }, ` · ${t("cost.own")}`) : null];
    return h(
      "tr",
      { class: form.name === own ? "open" : null, dataset: { testid: "cost", form: form.name, time, space } },
      h("th", { scope: "row", title: costFormula(form.multiplications) }, name),
      cells.map((cell) => h("td", null, cell)),
    );
  });
  const head = tableHead(COLUMNS.map((name) => t(`cost.column_${name}`)));
  return scrolling(t("cost.table"), h("table", { class: "token-table costs" }, head, h("tbody", null, rows)));
}

/** Every term of one mechanism. @param {Form} form @param {number} n @param {Sizes} sizes */
export function termsTable({ multiplications, numbers }, n, sizes) {
  const row = (/** @type {Term} */ term, /** @type {string} */ unit) =>
    h(
      "tr",
      null,
      [termName(term.what), product(term.of), integer(count([term], n, sizes)), unit].map((cell) =>
        h("td", null, cell),
      ),
    );
  const rows = [
    ...multiplications.map((term) => row(term, t("cost.unit_time"))),
    ...numbers.map((term) => row(term, t("cost.unit_space"))),
  ];
  return scrolling(t("cost.terms"), h("table", { class: "token-table costs" }, h("tbody", null, rows)));
}

/** Seconds by mechanism and length. @param {Measured} measured @param {string|null} own */
export function timesTable({ start, points }, own) {
  if (!start) return null;
  const head = tableHead([t("cost.column_mechanism"), ...start.lengths.map((n) => `T = ${integer(n)}`)]);
  const rows = start.forms.map((form) => {
    const cells = start.lengths.map((n) => {
      const point = points.find((one) => one.form === form && one.n === n);
      const words = !point ? "" : point.seconds === null ? t(`cost.why_${point.why}`) : millis(point.seconds);
      return h("td", { class: point?.seconds === null ? "dim" : null }, words);
    });
    return h("tr", { class: form === own ? "open" : null }, h("th", { scope: "row" }, formName(form)), cells);
  });
  return scrolling(t("cost.times"), h("table", { class: "token-table costs" }, head, h("tbody", null, rows)));
}

const ACROSS = /** @type {[number, number]} */ ([8, LARGEST_COUNT]);
const TICKS = [16, 64, 256, 1024, 4096, 16384];
/** The looks of lines differ by how the cost grows, not only by colour (css/cost.css). */
const GROWTHS = /** @type {Record<string, string>} */ ({
  "T²d": "square",
  "T² + Td": "square",
  Tsd: "window",
  Td: "linear",
});

/** The model's own last, so that it is on top. @template {{name: string}} F @param {F[]} forms @param {string|null} own @returns {F[]} */
const ownLast = (forms, own) => [
  ...forms.filter(({ name }) => name !== own),
  ...forms.filter(({ name }) => name === own),
];

/** @param {Cost} cost @param {"time"|"space"} what @param {{n: number, window: number}} at @returns {Chart} */
export function counted({ own, sizes, forms }, what, { n, window }) {
  const curves = ownLast(forms, own).map((form) => ({
    name: formName(form.name),
    look: `${GROWTHS[form[what]] ?? "square"}${form.name === own ? " own" : ""}`,
    points: lengths().map((x) => ({ x, y: costOf(form, what, x, sizes) })),
  }));
  if (what === "time") {
    const points = lengths().map((x) => ({ x, y: 4 * x * sizes.d ** 2 }));
    curves.unshift({ name: t("cost.projections"), look: "beside", points });
  }
  return {
    id: `cost-${what}`,
    title: t(`cost.shown_${what}`),
    label: t(`cost.chart_${what}`),
    across: ACROSS,
    up: rangeOf(curves),
    ticks: TICKS,
    titles: { x: t("cost.axis_tokens"), y: t(`cost.axis_${what}`) },
    word: what === "time" ? tenTo : megabytes,
    curves,
    marks: marksOf(n, window),
  };
}

/**
 * @param {Measured} measured @param {string|null} own @param {{n: number, window: number}} at
 * @returns {Chart}
 */
export function timed({ start, points }, own, { n, window }) {
  const forms = ownLast(
    (start?.forms ?? []).map((name) => ({ name })),
    own,
  );
  const curves = forms.map(({ name }) => ({
    name: formName(name),
    look: `measured-${name}${name === own ? " own" : ""}`,
    dots: true,
    points: points
      .filter((one) => one.form === name && one.seconds)
      .map((one) => ({ x: one.n, y: Number(one.seconds) })),
  }));
  return {
    id: "cost-measured",
    title: t("cost.shown_measured"),
    label: t("cost.chart_measured"),
    across: [8, 4096],
    up: rangeOf(curves),
    ticks: TICKS.slice(0, -1),
    titles: { x: t("cost.axis_tokens"), y: t("cost.axis_measured") },
    word: millis,
    curves,
    marks: marksOf(n, window),
  };
}

/** @param {{points: {y: number}[]}[]} curves @returns {[number, number]} */
function rangeOf(curves) {
  const all = curves.flatMap(({ points }) => points.map(({ y }) => y));
  return all.length ? [Math.min(...all), Math.max(...all)] : [1e-4, 1];
}

/** @param {number} n @param {number} window */
const marksOf = (n, window) => [
  { x: window, name: t("cost.window", { n: window }), look: "window-mark" },
  { x: Math.max(n, ACROSS[0]), name: `T = ${n}`, look: "here" },
];
