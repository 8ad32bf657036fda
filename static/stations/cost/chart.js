/** The curves of the station: every mechanism's, the model's own on top. No DOM. */

import { t } from "../../ui/i18n.js";
import { costOf, lengths, MOST } from "./counts.js";
import { formName, megabytes, millis, tenTo } from "./words.js";

/**
 * @import { Chart } from "../../chart/curves/log_chart.js"
 * @import { Cost } from "./counts.js"
 * @import { Measured } from "./measuring.js"
 */

const ACROSS = /** @type {[number, number]} */ ([8, MOST]);
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
