/**
 * What each step costs with the KV cache and without it, as lines over the steps: multiply-adds and bytes counted from shapes,
 * milliseconds measured: dots are steps that were taken, lines the measurement of both.
 */

import { axisOf, charts, curvePath, gridOf, hereOf, linear } from "../../chart/curves/chart.js";
import { writingRequest } from "../../data/request.js";
import { measureCaching } from "../../data/streams.js";
import { cachedAttention, keyBytes, recurrentAttention, stateBytes, stepCost } from "../../model/kv_cache.js";
import { segment } from "../../ui/controls.js";
import { h, lowSheet, replace, setText, svg, update } from "../../ui/dom.js";
import { byteSize, errorText, integer, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { CACHE_COSTS, cacheState } from "../view_states.js";

/**
 * @import { Box } from "../../chart/curves/chart.js"
 * @import { CacheReading } from "../../data/streams.js"
 * @import { Model } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 */

/** @typedef {{positions: number, computed: number, bytes: number, milliseconds: number, together: number}} Cache  of one step */
/** @typedef {[number, number][]} Points  tokens so far, and what the step cost */
/**
 * @typedef {Object} CostChart
 * @property {string} label  a description for screen readers
 * @property {number} last  the most tokens of the axis
 * @property {number} at  the tokens so far
 * @property {number} high  in pixels
 * @property {boolean} log  whether the other axis is logarithmic
 * @property {(value: number) => string} word
 * @property {string} unit
 * @property {{look: string, points: Points, dots?: boolean}[]} lines
 */

/** The places at which a line is counted. */
const PLACES = 48;

/** @type {(root: HTMLElement, chart: CostChart) => void} */
const drawCostChart = charts({
  look: "cache-chart",
  margin: { left: 62, right: 10, top: 24, bottom: 38 },
  height: ({ high }) => high,
  paint,
});

/** @param {CostChart} chart @param {Box} box */
function paint({ last, at, log, word, unit, lines }, box) {
  const values = lines.flatMap(({ points }) => points.map(([, value]) => value)).filter((value) => !log || value > 0);
  const high = Math.max(...values, log ? 10 : 1e-9);
  const decades = { low: Math.floor(Math.log10(Math.min(...values, high / 10))), high: Math.ceil(Math.log10(high)) };
  const up = log ? decadesOf(decades) : linear(0, high, 3);
  const across = linear(0, last, 4);
  const x = (/** @type {number} */ n) => box.left + across.place(n) * (box.right - box.left);
  const y = (/** @type {number} */ value) => box.bottom - up.place(value) * (box.bottom - box.top);
  const names = across.ticks.map((tick) => ({ x: x(tick), name: integer(tick) }));
  return [
    gridOf(up.ticks, y, word, box),
    svg("text", { class: "axis", x: box.left, y: 12 }, unit),
    hereOf(x(at), box),
    axisOf(names, t("cache.axis"), box),
    lines.map(({ look, points, dots }) => {
      const shown = points.filter(([, value]) => !log || value > 0);
      const pixels = shown.map(([n, value]) => /** @type {[number, number]} */ ([x(n), y(value)]));
      const marks = pixels.map(([cx, cy]) => svg("circle", { cx, cy, r: 3 }));
      return svg("g", { class: `cost-line ${look}` }, dots ? marks : svg("path", { d: curvePath(pixels) }));
    }),
  ];
}

/** @param {{low: number, high: number}} decades */
const decadesOf = ({ low, high }) => ({
  place: (/** @type {number} */ value) => (Math.log10(value) - low) / (high - low),
  ticks: Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i)),
});

/**
 * What is drawn: lines counted for every length, and what was measured.
 * @param {"multiply_adds"|"bytes"|"milliseconds"} shows
 * @param {{model: Model, source: number, last: number, steps: Cache[], readings: CacheReading[], on: boolean}} of  `on`: as it is written now
 * @returns {CostChart["lines"]}
 */
function costLines(shows, { model, source, last, steps, readings, on }) {
  const lengths = [
    ...new Set(Array.from({ length: PLACES }, (_, i) => Math.max(1, Math.round((last * i) / (PLACES - 1))))),
  ];
  /** @param {(n: number) => number} value @returns {Points} */
  const counted = (value) => lengths.map((n) => [n, value(n)]);
  /** @param {boolean} cached @param {(step: Cache) => number} value */
  const taken = (cached, value) => ({
    look: cached ? "with" : "without",
    points: /** @type {Points} */ (
      steps.filter((step) => step.bytes > 0 === cached).map((step) => [step.positions, value(step)])
    ),
    dots: true,
  });
  if (shows === "multiply_adds") {
    if (!stepCost(model, { tokens: 1, source, cached: true })) return [];
    /** @param {boolean} cached */
    const of = (cached) => (/** @type {number} */ tokens) =>
      /** @type {import("../../model/kv_cache.js").StepCost} */ (stepCost(model, { tokens, source, cached }));
    return [true, false].flatMap((cached) => {
      const look = cached ? "with" : "without";
      return [
        { look: `${look} part`, points: counted((n) => of(cached)(n).attention) },
        {
          look: `${look}${cached === on ? " taken" : ""}`,
          points: counted((n) => of(cached)(n).weights + of(cached)(n).attention),
        },
      ];
    });
  }
  const carries = recurrentAttention(model);
  if (shows === "bytes")
    return [
      ...(carries
        ? [
            { look: "with part", points: counted(() => stateBytes(carries)) },
            { look: "without part", points: counted((n) => keyBytes(model, { tokens: n, source })) },
          ]
        : []),
      ...(cachedAttention(model) // what other mechanisms keep is not counted
        ? [{ look: "with", points: counted((n) => keyBytes(model, { tokens: n, source })) }]
        : []),
      { look: "without", points: counted(() => 0) },
      taken(true, ({ bytes }) => bytes),
    ];
  /** @param {0|1} i */
  const read = (i) => /** @type {Points} */ (readings.map(({ n, milliseconds }) => [n, milliseconds[i]]));
  const alone = steps.filter(({ together }) => together === 1).length > 0;
  return [
    { look: "with", points: read(0) },
    { look: "without", points: read(1) },
    ...(alone
      ? [taken(true, ({ milliseconds }) => milliseconds), taken(false, ({ milliseconds }) => milliseconds)]
      : []),
  ];
}

/** Of the multiply-adds of a large step, in powers of a thousand. */
const UNITS = [
  { size: 1e12, name: "T" },
  { size: 1e9, name: "G" },
  { size: 1e6, name: "M" },
  { size: 1e3, name: "k" },
];

/** @type {Record<typeof CACHE_COSTS[number], (value: number) => string>} */
const WORDS = {
  multiply_adds: (value) => {
    const unit = UNITS.find(({ size }) => value >= size);
    return unit ? `${integer(value / unit.size)} ${unit.name}` : integer(value);
  },
  bytes: (value) => (value ? byteSize(value) : "0"),
  milliseconds: (value) => significant(value, 2),
};

/** The chart with its choice, and the measurement of both. @param {Actions} actions @param {() => void} onChange */
export function createCosts(actions, onChange) {
  const shown = segment(t("cache.shows"), CACHE_COSTS, "cache-costs", (name) => t(`cache.shows.${name}`));
  const chart = h("div", { class: "cache-chart-box" });
  const legend = h("p", { class: "cache-legend dim" });
  const button = h("button", { class: "btn", type: "button", dataset: { testid: "cache-measure" } });
  const said = h("span", { role: "status", dataset: { testid: "cache-difference" } });
  const measured = h("p", { class: "cache-measure" }, button, said);
  const choice = h("div", { class: "cache-lines" }, shown.box, legend, measured);
  const node = h("div", { class: "cache-costs" }, chart);
  const measuring = createCacheMeasuring(onChange, () => actions.get().drawer === "cache");
  return {
    node,
    /** What the lines are of, beside them. */
    choice,
    /** @param {{model: any, source: number, ids: number[], steps: Cache[]}} of @param {State} state */
    draw({ model, source, ids, steps }, state) {
      const { shows, on } = cacheState.of(state);
      const run = writingRequest(state, ids, model);
      const { readings, running, error } = measuring.of(run);
      const far =
        shows === "milliseconds" ? Math.max(16, Math.round(1.25 * ids.length)) : Math.max(256, 2 * ids.length);
      const last = Math.min(model.max_seq_len, far);
      const lines = costLines(shows, { model, source, last, steps, readings, on });
      shown.show(shows, (name) => actions.set(cacheState.patch({ shows: name })));
      const empty = lines.every(({ points }) => points.length === 0);
      const label = t(`cache.chart.${shows}`);
      const uncounted = empty && shows === "multiply_adds";
      chart.hidden = empty;
      legend.hidden = empty && !uncounted;
      if (!empty)
        drawCostChart(chart, {
          ...{ label, last, at: ids.length, log: shows !== "bytes", word: WORDS[shows], lines, high: heightIn(node) },
          unit: t(`cache.unit.${shows}`),
        });
      replace(legend, uncounted ? t("cache.not_counted") : legendOf(shows, recurrentAttention(model) !== null));
      measured.hidden = shows !== "milliseconds";
      setText(button, t(running ? "cache.stop" : "cache.measure"));
      update(button, { title: t("cache.measure_about") });
      button.onclick = () => (running ? measuring.stop() : measuring.begin(run));
      const most = Math.max(...readings.map(({ difference }) => difference));
      const found = readings.length ? t("cache.difference", { value: significant(most, 2) }) : "";
      setText(said, error ? errorText(/** @type {any} */ (error)) : found);
    },
  };
}

/** The height of the lines; what else stands in a low sheet, which they fill. */
const [HEIGHT, BESIDE] = [186, 76];

/** @param {Element} place */
const heightIn = (place) => Math.max(HEIGHT, (lowSheet(place)?.clientHeight ?? 0) - BESIDE);

/** @param {typeof CACHE_COSTS[number]} shows @param {boolean} carries  whether the model carries a state */
const legendOf = (shows, carries) => [
  h("span", { class: "key with" }, t("cache.with")),
  h("span", { class: "key without" }, t("cache.without")),
  shows === "bytes" && carries && h("span", { class: "key part" }, t("cache.counted_state")),
  shows === "multiply_adds" && h("span", { class: "key part" }, t("cache.counted_attention")),
];

/**
 * One measurement at a time, of the text that it was begun with: it ends when another one is shown, or none (`isShown`).
 * @param {() => void} onChange @param {() => boolean} isShown
 */
export function createCacheMeasuring(onChange, isShown) {
  const nothing = {
    key: "",
    readings: /** @type {CacheReading[]} */ ([]),
    running: false,
    error: /** @type {unknown} */ (null),
  };
  let [control, measured] = [new AbortController(), nothing];
  return {
    /** @param {object} run */
    async begin(run) {
      control.abort();
      const running = new AbortController();
      const { signal } = running;
      control = running;
      const own = { ...nothing, key: JSON.stringify(run), readings: /** @type {CacheReading[]} */ ([]), running: true };
      measured = own;
      onChange();
      const onReading = (/** @type {CacheReading} */ reading) => {
        if (!isShown()) running.abort();
        if (signal.aborted) return;
        own.readings.push(reading);
        if (measured === own) onChange();
      };
      try {
        await measureCaching(run, { signal, onReading });
      } catch (error) {
        if (!signal.aborted) own.error = error;
      }
      own.running = false;
      if (measured === own) onChange();
    },
    stop: () => control.abort(),
    /** @param {object} run */
    of(run) {
      if (measured.key === JSON.stringify(run)) return measured;
      control.abort();
      return nothing;
    },
  };
}
