/** Two numbers for each of a few tokens, as a picture of horizontal bars: zoom, hover, PNG and SVG. */

import { shortLabel } from "../../model/labels.js";
import { h, perRoot, replace } from "../../ui/dom.js";
import { percent } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { pageSaves } from "../figures.js";
import { announce, ICONS } from "../pictures.js";
import * as plotly from "../plotly.js";
import { cssColour, typeScale } from "../theme.js";

const ROW = 30;
const MARGIN = { l: 112, r: 24, t: 34, b: 8, pad: 4 };
/** The smallest value on a logarithmic axis. */
const SMALLEST = 1e-6;

/**
 * @typedef {{label: string, hover: string, values: [number, number], marked: boolean}} Row
 * @typedef {Object} Bars
 * @property {string} label  a description for screen readers
 * @property {Row[]} rows
 * @property {{name: string, colour: string}[]} series  two of them
 * @property {boolean} log
 * @property {(row: number) => void} onChoose
 * @property {string} filename
 *
 * @typedef {ReturnType<typeof barParts>} Parts
 */

const barParts = perRoot((root) => {
  const plot = h("div", { class: "bar-picture", role: "figure", dataset: { testid: "bars" } });
  root.append(plot);
  const failed = h("div", { class: "matrix-error", role: "alert" });
  const begun = { bars: /** @type {Bars|null} */ (null), config: /** @type {object|null} */ (null) };
  const parts = { root, plot, failed, ...begun, turn: 0, width: 0, listening: false };
  announce(plot, () => (parts.width && parts.bars ? { kind: "bars", content: parts.bars, plot } : null));
  new ResizeObserver(() => parts.bars && root.clientWidth !== parts.width && render(parts)).observe(root);
  return parts;
});

/** Draw `bars` into `root`, or change what is there. @param {HTMLElement} root @param {Bars} bars */
export function drawBarPicture(root, bars) {
  const parts = barParts(root);
  parts.bars = bars;
  parts.plot.setAttribute("aria-label", bars.label);
  parts.plot.style.height = `${heightOf(bars)}px`;
  render(parts);
}

/** @param {Parts} parts */
async function render(parts) {
  const turn = ++parts.turn;
  try {
    await plotly.load();
    const { root, plot, bars } = parts;
    if (turn !== parts.turn || !bars || root.clientWidth === 0) return; // a newer call draws, or the element is hidden
    parts.width = root.clientWidth;
    await plotly.react(plot, dataOf(bars), layoutOf(bars, parts.width), configOf(parts));
    if (!parts.listening) plotly.on(plot, "plotly_click", ({ points }) => parts.bars?.onChoose(points[0].pointIndex));
    parts.listening = true;
    parts.failed.remove();
  } catch (error) {
    console.error(error);
    const retry = h("button", { class: "btn", type: "button", on: { click: () => render(parts) } }, t("matrix.retry"));
    replace(parts.failed, h("p", null, t("matrix.failed", { message: /** @type {Error} */ (error).message })), retry);
    parts.root.append(parts.failed);
  }
}

/** @param {Bars} bars */
function heightOf({ rows }) {
  return MARGIN.t + MARGIN.b + ROW * rows.length;
}

/** One trace per series. The axis is numeric, because two tokens may look the same. @param {Bars} bars */
function dataOf({ rows, series, log }) {
  return series.map(({ name, colour }, i) => ({
    type: "bar",
    orientation: "h",
    name,
    x: rows.map(({ values }) => (log && values[i] === 0 ? null : values[i])),
    y: rows.map((row, n) => n),
    marker: { color: colour },
    hoverinfo: "text",
    hovertext: rows.map(({ hover }) => plotly.escapeText(hover)),
  }));
}

/** @param {Bars} bars @param {number} width */
function layoutOf(bars, width) {
  const { rows, log } = bars;
  const panel = cssColour("--panel");
  const ink = { family: cssColour("--mono"), size: 13 * typeScale(), color: cssColour("--ink") };
  const hover = { bgcolor: cssColour("--ink"), bordercolor: cssColour("--ink"), align: "left" };
  return {
    width,
    height: heightOf(bars),
    margin: { ...MARGIN, l: MARGIN.l * typeScale() },
    paper_bgcolor: panel,
    plot_bgcolor: panel,
    font: ink,
    bargap: 0.28,
    bargroupgap: 0,
    showlegend: false,
    dragmode: false,
    hoverlabel: { ...hover, font: { family: cssColour("--font"), size: 12.5, color: panel } },
    modebar: { bgcolor: "transparent", color: cssColour("--ink-3"), activecolor: cssColour("--accent") },
    xaxis: {
      ...(log ? logAxis(rows) : linearAxis(rows, width)),
      side: "top",
      gridcolor: cssColour("--line"),
      zeroline: false,
    },
    yaxis: {
      range: [rows.length - 0.5, -0.5],
      tickmode: "array",
      tickvals: rows.map((row, n) => n),
      ticktext: rows.map(labelOf),
      showgrid: false,
      zeroline: false,
    },
  };
}

/** @param {Row} row */
function labelOf({ label, marked }) {
  const text = marked ? `▸ ${shortLabel(label, 10)}` : shortLabel(label, 12);
  return marked ? plotly.coloured(text, cssColour("--accent")) : plotly.escapeText(text);
}

/** @param {Row[]} rows @param {number} width */
function linearAxis(rows, width) {
  const most = Math.max(...rows.flatMap(({ values }) => values));
  return { type: "linear", range: [0, Math.min(1, most * 1.04)], tickformat: ".0%", nticks: width < 480 ? 4 : 6 };
}

/** Whole powers of ten, from the smallest value to 1. @param {Row[]} rows */
function logAxis(rows) {
  const least = Math.min(...rows.flatMap(({ values }) => values.filter((value) => value > SMALLEST)));
  const low = Math.floor(Math.log10(Math.max(least, SMALLEST)));
  const powers = Array.from({ length: 1 - low }, (_, i) => 10 ** (low + i));
  const text = powers.map((power) => percent(power, Math.max(0, -Math.log10(power) - 2)));
  return { type: "log", range: [low, 0], tickmode: "array", tickvals: powers, ticktext: text };
}

/** @param {Parts} parts */
function configOf(parts) {
  const save = (/** @type {"png"|"svg"} */ format) => () => {
    const { bars, plot } = parts;
    if (!bars || pageSaves(plot, { picture: { kind: "bars", content: bars, plot }, format })) return;
    plotly.downloadPlot(plot, { format, filename: bars.filename, scale: format === "png" ? 2 : 1 });
  };
  const button = (/** @type {"png"|"svg"} */ format) => {
    const icon = { width: 24, height: 24, path: ICONS[format] };
    return { name: format, title: t(`matrix.button.${format}`), icon, click: save(format) };
  };
  parts.config ??= { displaylogo: false, responsive: false, modeBarButtons: [[button("png"), button("svg")]] };
  return parts.config;
}
