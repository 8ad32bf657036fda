/**
 * The state of a recurrent mechanism after the newest token: two numbers of each feature in every layer, what this step changed of
 * them, and the open head's as a table. It has the same size after any number of tokens.
 */

import { drawNumbers } from "../../chart/table.js";
import { cssColour, currentTheme, pixelsBetween, pixelTable } from "../../chart/theme.js";
import { tapOf } from "../../model/description.js";
import { STATE_ROLES } from "../../model/kv_cache.js";
import { tokenName } from "../../model/labels.js";
import { sideOf } from "../../model/sides.js";
import { h, perRoot, replace } from "../../ui/dom.js";
import { number, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";

/**
 * @import { FetchedTrace, FloatTensor } from "../../data/model_trace.js"
 * @import { Attention } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 */

/**
 * @typedef {{mean: Float32Array, logSum: Float32Array, meanBefore: Float32Array|null, logSumBefore: Float32Array|null,
 *   change: Float32Array}} Carried  of one layer: head after head; `before` null: the newest token is the first
 */

/**
 * The rows of one position, all heads: [head d_head].
 * @param {FloatTensor} tensor  [head position d_head] @param {number} at
 */
function rowsAt({ shape: [heads, n, d], data }, at) {
  const rows = new Float32Array(heads * d);
  for (let head = 0; head < heads; head++)
    rows.set(data.subarray((head * n + at) * d, (head * n + at + 1) * d), head * d);
  return rows;
}

/**
 * What a layer carries on after the newest token, and what that token changed; null: its tensors are not here.
 * @param {Pick<FetchedTrace, "tensor"|"sides">} trace @param {Attention} attention @param {number} layer @returns {Carried|null}
 */
export function carriedBy(trace, attention, layer) {
  const [logSums, means] = STATE_ROLES.map((role) => trace.tensor(tapOf(attention, layer, role)));
  if (!logSums || !means) return null;
  const { start, end } = sideOf(trace.sides, attention.queries).real;
  const [mean, logSum] = [rowsAt(means, end - 1), rowsAt(logSums, end - 1)];
  const before = end - 2 >= start;
  const meanBefore = before ? rowsAt(means, end - 2) : null;
  const logSumBefore = before ? rowsAt(logSums, end - 2) : null;
  return { mean, logSum, meanBefore, logSumBefore, change: mean.map((one, i) => one - (meanBefore?.[i] ?? 0)) };
}

/** The feature with the largest change. @param {Float32Array} change */
export const mostChanged = (change) =>
  change.reduce((most, one, i) => (Math.abs(one) > Math.abs(change[most]) ? i : most), 0);

const elementsOf = perRoot((root) => {
  const layers = h("div", { class: "cache-layers", dataset: { testid: "state-layers" } });
  const table = h("div", { class: "state-table" });
  replace(root, layers, table);
  return { layers, table };
});

/**
 * Draws every layer whose tensors are here. Returns how many features there are in one.
 * @param {HTMLElement} root @param {FetchedTrace} trace @param {State} state @param {Attention} attention
 */
export function drawState(root, trace, state, attention) {
  const { layers, table } = elementsOf(root);
  const all = Array.from({ length: attention.n_layer }, (_, layer) => ({
    layer,
    ...carriedBy(trace, attention, layer),
  }));
  const here = all.filter((one) => "mean" in one);
  table.hidden = here.length === 0;
  const content = JSON.stringify([trace.key, currentTheme(), state.head, state.layer, here.length]);
  if (root.dataset.drawn === content) return;
  root.dataset.drawn = content;
  replace(
    layers,
    here.map((one) => layerOf(/** @type {Carried & {layer: number}} */ (one), attention)),
  );
  const open = here.find(({ layer }) => layer === Math.min(state.layer, attention.n_layer - 1)) ?? here[0];
  if (open) drawTable(table, /** @type {Carried & {layer: number}} */ (open), trace, state, attention);
}

/** @param {Carried & {layer: number}} carried @param {Attention} attention */
function layerOf({ layer, ...carried }, attention) {
  const largest = carried.mean.reduce((most, one) => Math.max(most, Math.abs(one)), Number.MIN_VALUE);
  const most = mostChanged(carried.change);
  const [head, d] = [Math.floor(most / attention.d_head), most % attention.d_head];
  const [from, to] = [carried.meanBefore?.[most] ?? 0, carried.mean[most]].map((one) => number(one, 2));
  return h(
    "figure",
    { class: "cache-layer", dataset: { layer } },
    h("figcaption", null, t("heads.layer", { n: layer })),
    picture("mean", carried.mean, largest, { layer, attention }),
    picture("change", carried.change, largest, { layer, attention }),
    picture("log_sum", carried.logSum, null, { layer, attention }),
    h(
      "p",
      { class: "dim state-most", dataset: { testid: "state-most" } },
      t("cache.state_most", { head, d, from, to }),
    ),
  );
}

/**
 * A row for each head, a cell for each feature. The mean and its change have one scale, with 0 in the middle.
 * @param {"mean"|"change"|"log_sum"} what @param {Float32Array} cells @param {number|null} largest  null: from the least to the most
 * @param {{layer: number, attention: Attention}} of
 */
function picture(what, cells, largest, { layer, attention: { n_head: heads, d_head: d } }) {
  const canvas = h("canvas", { width: d, height: heads, role: "img" });
  const [least, most] = [Math.min(...cells), Math.max(...cells)];
  const colours = largest === null ? pixelsBetween([cssColour("--panel"), cssColour("--k")], 256) : pixelTable("v");
  const place = (/** @type {number} */ one) =>
    largest === null ? (one - least) / (most - least || 1) : 0.5 + one / (2 * largest);
  const image = new ImageData(d, heads);
  const pixels = new Uint32Array(image.data.buffer);
  cells.forEach((one, i) => {
    pixels[i] = colours[Math.min(255, Math.max(0, Math.round(255 * place(one))))];
  });
  /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).putImageData(image, 0, 0);
  canvas.setAttribute(
    "aria-label",
    t(`cache.state.${what}_of`, { layer, least: number(least, 2), most: number(most, 2) }),
  );
  canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
    const i = Math.min(d - 1, Math.max(0, Math.floor((offsetX / canvas.clientWidth) * d)));
    const head = Math.min(heads - 1, Math.max(0, Math.floor((offsetY / canvas.clientHeight) * heads)));
    canvas.title = t("cache.state_cell", { head, d: i, value: significant(cells[head * d + i]) });
  });
  return h(
    "div",
    { class: `cache-picture state ${what === "log_sum" ? "k" : "v"}`, dataset: { what } },
    h("b", { class: what === "log_sum" ? "k" : "v" }, t(`cache.state.${what}`)),
    canvas,
  );
}

/** @param {HTMLElement} place @param {Carried & {layer: number}} carried @param {FetchedTrace} trace @param {State} state @param {Attention} attention */
function drawTable(place, carried, trace, state, { d_head: d, n_head: heads, queries }) {
  const head = Math.min(state.head, heads - 1);
  const { tokens, real } = sideOf(trace.sides, queries);
  const columns = [carried.meanBefore, carried.mean, carried.change, carried.logSumBefore, carried.logSum];
  const names = ["mean_before", "mean_after", "change", "log_sum_before", "log_sum_after"];
  const values = Float32Array.from({ length: d * columns.length }, (_, i) => {
    const [row, col] = [Math.floor(i / columns.length), i % columns.length];
    return columns[col]?.[head * d + row] ?? 0;
  });
  const forbidden = Uint8Array.from(values, (_, i) => (columns[i % columns.length] ? 0 : 1));
  const labels = Array.from({ length: d }, (_, i) => String(i));
  drawNumbers(place, {
    label: t("cache.state_table", { layer: carried.layer, head, token: tokenName(tokens[real.end - 1]) }),
    values,
    forbidden,
    shape: [d, columns.length],
    rows: { title: t("cache.state.feature"), labels, role: "v" },
    cols: { title: t("cache.state.number"), labels: names.map((name) => t(`cache.state.${name}`)), role: "v" },
    tableText: (row, col) => (columns[col] ? significant(values[row * columns.length + col]) : t("decay.empty")),
    chosen: { row: 0, col: 1 },
  });
}
