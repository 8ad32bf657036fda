/** The residual stream: its length, what each sublayer writes to it, what LayerNorm does to it, and what it is for. */

import { attentionOf, isCross, normPlace, stackOf, stacksOf, wordOf } from "../../model/description.js";
import { position } from "../../model/selection.js";
import { normsOf } from "../../model/taps.js";
import { segment } from "../../ui/controls.js";
import { h, keepingFocus, perRoot, replace, scrolling, setText, tableHead } from "../../ui/dom.js";
import { integer, number, percent, significant } from "../../ui/format.js";
import { hasString, phrase, t } from "../../ui/i18n.js";
import { math, mi, mo, mtext, row, withFormulas } from "../../ui/mathml.js";
import { tokenInRole } from "../inspector/parts.js";
import { buildLayerStation, drawStationStrip, nameOfPart, part } from "../parts.js";
import { residualNeeds } from "../tabs.js";
import { RESIDUAL_TABS, residualState } from "../view_states.js";
import { drawGradients } from "./gradients.js";
import { drawStream } from "./stream.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Model, Stack, Sublayer } from "../../model/description.js"
 * @import { Part } from "../parts.js"
 * @import { Actions, Draw } from "../view.js"
 */

/**
 * @typedef {{sublayer: Sublayer & {layer: number}, norm: number[], relative: number[], cosine: number[]}} Written  by a sublayer, [position]
 * @typedef {{path: string, norm_in: number[], norm_hat: number[], norm_out: number[], cos_in_out: number[], gain: [number, number],
 *   bias_norm: number}} Normed  what a LayerNorm did, [position]
 * @typedef {{stack: string, norm: number[][], written: Written[], norms: Normed[]}} Stream  of the answer to "residual"; `norm`:
 *   [depth][position]
 * @typedef {{stack: Stack, name: string|null, isOpen: (one: {stack: string}) => boolean, query: number, layer: number}} At  what is shown;
 *   `name`: of the stack, if there are several
 */

/** @typedef {At & {stream: Stream}} InStream */

/**
 *  What each LayerNorm does to the chosen token's vector: its length before and after, and how much of the direction is
 * kept.
 */
const COLUMNS = ["where", "in", "hat", "out", "kept", "gain", "bias"];

/** @param {Part} place @param {ModelTrace} trace @param {InStream} at @param {Actions} actions */
function drawNorms(place, trace, { stack, stream, query, layer }, actions) {
  const token = tokenInRole(trace.queries.tokens, query, "q");
  nameOfPart(place, phrase("residual.norms_title", { token }), t("residual.norms_about"));
  const head = tableHead(COLUMNS.map((name) => t(`residual.norm_${name}`)));
  const places = normsOf(stack); // in the order of the forward pass, as the answer's
  const rows = stream.norms.map((one, n) => rowOf(one, nameOf(trace.model, places[n]), { query, layer }, actions));
  const table = h("table", { class: "token-table norms", dataset: { testid: "norms" } }, head, h("tbody", null, rows));
  keepingFocus(place.place, () => replace(place.place, scrolling(t("residual.norms_label"), table)));
  replace(place.said, withFormulas(t("residual.norms_said", { root: significant(Math.sqrt(trace.model.d_model), 4) })));
}

/**
 * The name of one of the stack's LayerNorms: its layer and its sublayer.
 * @param {Model} model @param {{layer: number|null, sublayer: Sublayer|null}} place
 */
const nameOf = (model, { layer, sublayer }) => ({ layer, word: sublayer ? wordOf(model, sublayer) : "final" });

/**
 * @param {Normed} norm @param {{layer: number|null, word: string}} of @param {{query: number, layer: number}} at @param {Actions} actions
 */
function rowOf(norm, { layer, word }, { query, layer: open }, actions) {
  const name = t(`residual.norm_of.${word}`, { layer: layer ?? 0 });
  const where =
    layer === null
      ? name
      : h(
          "button",
          { class: "link", type: "button", dataset: { focus: norm.path }, on: { click: () => actions.set({ layer }) } },
          name,
        );
  const kept = norm.cos_in_out[query];
  const bar = h(
    "span",
    { class: "cosine", "aria-hidden": true },
    h("span", { style: { width: `${(Math.max(0, kept) * 100).toFixed(1)}%` } }),
  );
  const [low, high] = norm.gain;
  const lengths = [norm.norm_in, norm.norm_hat, norm.norm_out].map((one) => significant(one[query]));
  const cells = [
    where,
    ...lengths,
    [bar, number(kept, 3)],
    `${number(low, 2)} … ${number(high, 2)}`,
    significant(norm.bias_norm, 3),
  ];
  const data = { norm: norm.path, in: norm.norm_in[query], out: norm.norm_out[query], kept };
  return h(
    "tr",
    { class: layer === open ? "open" : null, dataset: data },
    cells.map((cell) => h("td", null, cell)),
  );
}

const elementsOf = perRoot((root) => {
  const station = buildLayerStation(root);
  const tabs = segment(t("residual.tabs"), RESIDUAL_TABS, "residual", (name) => t(`residual.tab.${name}`));
  station.tools.append(tabs.box);
  const [stream, norms, gradients, parameters] = RESIDUAL_TABS.map(part);
  const parts = { stream, norms, gradients, parameters };
  const lacks = h("p", { class: "panel-lacks" });
  station.body.append(lacks, ...Object.values(parts).map(({ element }) => element));
  return { ...station, lacks, tabs, parts };
});

/** @type {Draw} */
export function draw(root, trace, state, actions) {
  const { parts, lacks, tabs, ...station } = elementsOf(root);
  const stack = stackOf(trace.model, attentionOf(trace.model, state.attention));
  const { tab } = residualState.of(state);
  const name = stacksOf(trace.model).length > 1 ? stack.id : null;
  const { query } = position(state, trace);
  const note = t("residual.note", {
    layers: t("shape.layers", { n: stack.layers.length }),
    n: trace.queries.tokens.length,
    d_model: trace.model.d_model,
  });
  drawStationStrip(station, t(name ? `residual.title.${name}` : "residual.title"), {
    formula: formulaOf(normPlace(stack)),
    note,
  });
  tabs.show(tab, (name) => actions.set(residualState.patch({ tab: name })));
  const why = residualNeeds(state, trace.model).map(trace.lacks).find(Boolean);
  lacks.hidden = !why;
  for (const one of RESIDUAL_TABS) parts[one].element.hidden = one !== tab || Boolean(why);
  if (why) return setText(lacks, t(why));
  const isOpen = (/** @type {{stack: string}} */ one) => one.stack === stack.id;
  const at = { stack, name, isOpen, query, layer: state.layer };
  if (tab === "gradients") return drawGradients(parts.gradients, trace, state, at, actions);
  if (tab === "parameters") return drawParameters(parts.parameters, trace);
  const stream = trace.explained.residual.streams.find(isOpen);
  if (tab === "norms") drawNorms(parts.norms, trace, { ...at, stream }, actions);
  else drawStream(parts.stream, trace, state, { ...at, stream }, actions);
}

/**
 * x ← x + f(LN(x)), or with the norm in another place; without formula where the page does not know the place.
 * @param {string|null} place
 */
function formulaOf(place) {
  const of = (/** @type {string} */ name, /** @type {Node[]} */ ...inside) =>
    row(mi(name), mtext("("), ...inside, mtext(")"));
  const x = () => mi("x"); // a node can only be in one place
  /** @type {Object<string, () => Node[]>} */
  const written = {
    pre: () => [x(), mo("+"), of("f", of("LN", x()))],
    post: () => [of("LN", x(), mo("+"), of("f", x()))],
    "res-post": () => [x(), mo("+"), of("LN", of("f", x()))],
    none: () => [x(), mo("+"), of("f", x())],
  };
  const right = written[place ?? "none"];
  return right ? [math(x(), mo("←"), ...right())] : [];
}

// Where the model's parameters are: counted by part, with tied matrices both once and as often as they are used.

/**
 * @typedef {{part: string, stack: string|null, layer: number|null, attention: string|null, shapes: number[][], n: number, tied: boolean}} Count
 *   of the answer to "parameters"; `tied`: counted before
 * @typedef {Count & {cross: boolean, layers: number}} Group
 */

const PARAMETER_COLUMNS = ["part", "n", "share", "times", "shapes"];

/** @param {Part} place @param {ModelTrace} trace */
function drawParameters(place, trace) {
  const { counts, total, untied_total: untied, position_table: table } = trace.explained.parameters;
  nameOfPart(place, t("residual.parameters_title", { total: integer(total) }), t("residual.parameters_about"));
  const groups = grouped(counts, trace.model);
  const several = stacksOf(trace.model).length > 1;
  const most = Math.max(...groups.map(({ n }) => n));
  const head = PARAMETER_COLUMNS.map((name) =>
    h("th", { scope: "col", class: `col-${name}` }, t(`residual.column_${name}`)),
  );
  const rows = [...groups.map((one) => parameterRow(one, total, most, several)), table && computedRow(table)];
  const body = h(
    "table",
    { class: "token-table parameters", dataset: { testid: "parameters" } },
    h("thead", null, h("tr", null, head)),
    h("tbody", null, rows),
  );
  replace(place.place, scrolling(t("residual.parameters_label"), body));
  const ok = total === trace.model.n_parameters;
  const check = h(
    "span",
    { class: ok ? "check" : "check bad", dataset: { testid: "total", total, untied, agrees: ok } },
    t(ok ? "residual.total_agrees" : "residual.total_differs", { n: integer(trace.model.n_parameters) }),
  );
  const tying =
    untied === total
      ? t("residual.untied_same", { total: integer(total) })
      : t("residual.untied", { total: integer(total), untied: integer(untied), saved: integer(untied - total) });
  replace(place.said, tying, " ", check);
}

/** The same part of all layers of a stack, added up. @param {Count[]} counts @param {Model} model @returns {Group[]} */
function grouped(counts, model) {
  /** @type {Map<string, Group>} */
  const groups = new Map();
  for (const one of counts) {
    const cross = one.attention !== null && isCross(attentionOf(model, one.attention));
    const key = [one.part, one.stack, cross, one.tied, one.layer === null].join();
    const group = groups.get(key) ?? { ...one, cross, n: 0, layers: 0 };
    group.n += one.n;
    group.layers += one.layer === null ? 0 : 1;
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** @param {Group} group @param {number} total @param {number} most @param {boolean} several  stacks */
function parameterRow({ part, stack, cross, shapes, n, tied, layers }, total, most, several) {
  const name = [
    hasString(`residual.part.${part}`) ? t(`residual.part.${part}`) : part,
    several && stack && h("span", { class: "dim" }, ` ${t(`residual.stack.${stack}`)}`),
    cross && h("span", { class: "dim" }, ` ${t("residual.cross")}`),
  ];
  const bar = h(
    "span",
    { class: "cosine wide", "aria-hidden": true },
    !tied && h("span", { style: { width: `${((n / most) * 100).toFixed(1)}%` } }),
  );
  const share = tied ? t("residual.tied") : percent(n / total);
  const cells = [name, integer(n), [bar, share], layers ? `× ${layers}` : "", shapesOf(shapes)];
  return h(
    "tr",
    { class: tied ? "tied" : null, dataset: { part, stack, tied, n } },
    cells.map((cell, i) => h("td", { class: `col-${PARAMETER_COLUMNS[i]}` }, cell)),
  );
}

/** "256 × 1024 + 1024": a matrix with its bias. PyTorch keeps a matrix as [out, in]. @param {number[][]} shapes */
const shapesOf = (shapes) => shapes.map((shape) => shape.join(" × ")).join(" + ");

/** A sinusoid's table is not a parameter, and the page says so. @param {number[]} shape */
function computedRow(shape) {
  const cells = [t("residual.part.sinusoid"), "", t("residual.computed"), "", shape.join(" × ")];
  return h(
    "tr",
    { class: "tied", dataset: { part: "sinusoid" } },
    cells.map((cell, i) => h("td", { class: `col-${PARAMETER_COLUMNS[i]}` }, cell)),
  );
}
