/**
 * The weights as lines between two rows of tokens: of the open head, of several heads in their colours, or their
 * mean.
 */

import { asMatrix, meanOf, weightsAt } from "../../chart/lines/layout.js";
import { drawLines } from "../../chart/lines/picture.js";
import { colourName, DASHES } from "../../chart/lines/svg.js";
import { cssColour } from "../../chart/theme.js";
import { labelName } from "../../model/labels.js";
import { segment } from "../../ui/controls.js";
import { h, keepingFocus, perRoot, replace, svg } from "../../ui/dom.js";
import { significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { namedLabel } from "../../ui/token_text.js";
import { attentionState } from "../view_states.js";
import { sharedCharacters, unitCells } from "./unit_cells.js";

/**
 * @import { Weights } from "../../chart/lines/layout.js"
 * @import { LinesPicture, Row } from "../../chart/lines/picture.js"
 * @import { Floats, HeadTrace, ModelTrace } from "../../data/model_trace.js"
 * @import { Side } from "../../model/sides.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 */

// Whose lines are drawn: those of the open head, of several heads of its layer, or their mean. The choice is also the
// legend.

/** The number of distinguishable colours. */
const MOST_HEADS = DASHES.length;

/**
 * What is shown: null (the open head), "mean", or those of the requested heads that the model has.
 * @param {Pick<ModelTrace, "nHead">} trace @param {State} state
 */
function shownHeads({ nHead }, state) {
  const { heads } = attentionState.of(state);
  if (!Array.isArray(heads)) return nHead > 1 ? heads : null;
  const there = heads.filter((head) => head < nHead).slice(0, MOST_HEADS);
  return there.length ? there : null;
}

const elementsOf = perRoot((root) => {
  const heads = h("div", { class: "line-heads", role: "group", "aria-label": t("lines.heads") });
  const modes = segment(t("lines.whose"), ["open", "several", "mean"], "lines", (name) => t(`lines.whose.${name}`));
  replace(root, modes.box, heads);
  return { modes, heads };
});

/** @param {HTMLElement} root @param {ModelTrace} trace @param {State} state @param {Actions} actions */
export function drawLineHeads(root, trace, state, actions) {
  const parts = elementsOf(root);
  const shown = shownHeads(trace, state);
  root.hidden = trace.nHead < 2;
  const several = Array.isArray(shown);
  const some = [0, 1, 2].map((i) => (state.head + i) % trace.nHead);
  const heads = { open: null, several: [...new Set(some)].sort((a, b) => a - b), mean: /** @type {const} */ ("mean") };
  const open = several ? "several" : (shown ?? "open");
  parts.modes.show(open, (name) => name !== open && actions.set(attentionState.patch({ heads: heads[name] })));
  keepingFocus(parts.heads, () => {
    parts.heads.hidden = !several;
    replace(parts.heads, several && Array.from({ length: trace.nHead }, (_, head) => chip(head, shown, actions)));
  });
}

/**
 * One head, in the colour and the dash that its lines have.
 * @param {number} head @param {number[]} shown @param {Actions} actions
 */
function chip(head, shown, actions) {
  const at = shown.indexOf(head);
  const on = at >= 0;
  const toggled = on ? shown.filter((one) => one !== head) : [...shown, head].sort((a, b) => a - b);
  const full = !on && shown.length >= MOST_HEADS;
  const attrs = {
    type: "button",
    class: "chip",
    "aria-pressed": on,
    disabled: full || (on && shown.length === 1),
    title: full ? t("lines.most", { n: MOST_HEADS }) : null,
    dataset: { testid: "line-head", head, focus: `head${head}` },
    on: { click: () => actions.set(attentionState.patch({ heads: toggled })) },
  };
  return h("button", attrs, on && sample(at, shown.length), t("lines.head", { head }));
}

/** A piece of a series' line. @param {number} i @param {number} count */
function sample(i, count) {
  const look = { "stroke-width": 3, "stroke-dasharray": DASHES[i], style: { stroke: `var(${colourName(i, count)})` } };
  return svg(
    "svg",
    { width: 26, height: 8, "aria-hidden": true, class: "sample" },
    svg("path", { d: "M1 4H25", ...look }),
  );
}

/**
 * The legend of lines: each head's colour and dash, and what their opacity means; null: no lines are drawn.
 * @param {ModelTrace} trace @param {State} state
 */
export function linesLegend(trace, state) {
  if (state.compare || attentionState.of(state).as !== "lines") return null;
  const shown = shownHeads(trace, state);
  const names = Array.isArray(shown) ? shown.map((head) => t("lines.head", { head })) : [];
  const samples = names.map((name, i) => h("span", { class: "sample-of" }, sample(i, names.length), name));
  const ramp = [h("span", null, "0"), h("span", { class: "ramp opacity" }), h("span", null, "1")];
  const words = [h("span", null, t("lines.opacity")), names.length < 2 && ramp];
  return h("span", { class: "legend", dataset: { testid: "lines-legend" } }, names.length > 1 && samples, words);
}

/** How many of a token's weights the text names: for one head, and for each of several. */
const SAID = { one: 5, each: 3 };

/**
 * @param {HTMLElement} root @param {HeadTrace} trace
 * @param {State} state @param {Actions} actions
 */
export function drawWeightLines(root, trace, state, actions) {
  const units = unitCells(trace, state);
  const weights = weightsOf(trace, state, units);
  /** @param {"q"|"k"} role @param {Side} side @param {{labels: string[]}} units @returns {Row} */
  const row = (role, side, { labels }) => ({
    labels,
    title: titleOf(trace, role, side),
    nameOf: (index) => t(`lines.token_${role}`, { label: labelName(labels[index]), index }),
    groups: units.unit === "tokens" ? sharedCharacters(side.tokens) : [],
  });
  const [q, k] = [row("q", trace.queries, units.rows), row("k", trace.keys, units.cols)];
  const shown = shownHeads(trace, state);
  const form = Array.isArray(shown) ? "_several" : shown === "mean" ? "_mean" : "";
  const title = t(`lines.title${form}`, { layer: state.layer, head: state.head });
  drawLines(root, {
    id: `lines${form.replace("_", "-")}`,
    title,
    label: title,
    weights,
    q,
    k,
    above: trace.queries.side === "target" && trace.keys.side === "source" ? "k" : "q",
    chosen: units.chosen,
    onChoose: (role, index) =>
      actions.set(role === "q" ? units.chooseQuery(index) : units.choose(units.chosen.q, index)),
    onPair: (query, key) => actions.set(units.choose(query, key)),
    describe: (role, index) => describe(weights, { q, k }, units.chosen, role, index),
    matrix: matrixOf(weights, q, k, units.chosen),
    legend: seriesOf(weights),
  });
}

/**
 * Each shown head in float32, over tokens or summed.
 * @param {HeadTrace} trace @param {State} state @param {ReturnType<typeof unitCells>} units
 */
function weightsOf(trace, state, units) {
  const { detail } = trace;
  const own = [{ name: t("lines.head", { head: state.head }), values: detail.overview.data }];
  const shown = shownHeads(trace, state);
  const size = detail.overview.data.length;
  const heads = /** @type {Floats} */ (trace.heads);
  const head = (/** @type {number} */ index) => heads.data.subarray(index * size, (index + 1) * size);
  const all = Array.from({ length: trace.nHead }, (_, index) => index);
  const series =
    shown === null
      ? own
      : shown === "mean"
        ? [{ name: t("lines.mean", { n: trace.nHead }), values: meanOf(all.map(head)) }]
        : shown.map((index) => ({ name: t("lines.head", { head: index }), values: head(index) }));
  const cells = series.map(({ name, values }) => ({ name, ...units.cells(values) }));
  return { series: cells, shape: cells[0].shape, forbidden: cells[0].forbidden };
}

/**
 * @param {{series: {name: string}[]}} weights @returns {{name: string, colour: string}[]} the legend of what is drawn
 */
function seriesOf({ series }) {
  return series.map(({ name }, i) => ({ name, colour: cssColour(colourName(i, series.length)) }));
}

/** @param {ModelTrace} trace @param {"q"|"k"} role @param {Side} side */
function titleOf(trace, role, { side }) {
  const words = t(role === "q" ? "lines.queries" : "lines.keys_row");
  return trace.sides.target ? `${t(`lines.side.${side}`)} · ${words}` : words;
}

/** @param {Weights} weights @param {Row} q @param {Row} k @param {{q: number, k: number}} chosen @returns {LinesPicture["matrix"]} */
function matrixOf(weights, q, k, chosen) {
  const { values, forbidden, shape, rows, cols } = asMatrix(weights, q.labels, k.labels);
  return {
    values,
    forbidden,
    shape,
    rows: { labels: rows, title: q.title, role: "q" },
    cols: { labels: cols, title: k.title, role: "k" },
    chosen: { row: chosen.q, col: chosen.k },
    tableText(/** @type {number} */ row, /** @type {number} */ col) {
      const at = row * shape[1] + col;
      return forbidden?.[at] ? t("matrix.forbidden_word") : significant(values[at]);
    },
  };
}

/**
 * "query ·force 2 looks at ·the 1 0.6382, …": largest first, and always the chosen key.
 * @param {Weights} weights @param {{q: Row, k: Row}} rows @param {{q: number, k: number}} chosen @param {"q"|"k"} role @param {number} index
 */
function describe(weights, rows, chosen, role, index) {
  const several = weights.series.length > 1;
  const asked = role === "q" && index === chosen.q ? chosen.k : null;
  const other = role === "q" ? "k" : "q";
  const lists = weights.series.map(({ name }, series) => {
    const list = listOf(weightsAt(weights, series, { role, index }), several ? SAID.each : SAID.one, asked, (at) =>
      namedLabel(rows[other].labels[at], other),
    );
    return h("span", { dataset: { series } }, several && [h("span", { class: "dim" }, name), " "], list);
  });
  const list = h("span", { class: several ? "said-heads" : null }, lists);
  return phrase(`lines.reads_${role}`, { token: namedLabel(rows[role].labels[index], role), list });
}

/**
 * The first `most` of `all`, the chosen one, and how many more there are.
 * @param {{other: number, weight: number}[]} all @param {number} most @param {number|null} asked @param {(at: number) => Node} tokenAt
 */
function listOf(all, most, asked, tokenAt) {
  if (!all.length) return [t("lines.nothing")];
  const said = all.filter((one, i) => i < most || one.other === asked);
  const number = (/** @type {typeof all[number]} */ { other, weight }) =>
    h("b", { class: "mono", dataset: { other, weight } }, significant(weight));
  const items = said.map((one, i) => [i > 0 && t("lines.comma"), tokenAt(one.other), " ", number(one)]);
  const rest = all.length - said.length;
  return [items, rest > 0 && h("span", { class: "dim" }, ` ${t("lines.more", { n: rest })}`)];
}
