/** The residual stream: its length, what each sublayer writes to it, what LayerNorm does to it, and what it is for. */

import { attentionOf, normPlace, stackOf, stacksOf, wordOf } from "../../model/description.js";
import { tokenName } from "../../model/labels.js";
import { position } from "../../model/selection.js";
import { normsOf } from "../../model/taps.js";
import { h, keepingFocus, perRoot, replace, scrolling, tableHead } from "../../ui/dom.js";
import { number, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { math, mi, mo, mtext, row, withFormulas } from "../../ui/mathml.js";
import { buildLayerStation, drawFolded, drawStationStrip, nameOfPart, part } from "../parts.js";
import { drawGradients } from "./gradients.js";
import { drawParameters } from "./parameters.js";
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
 * @typedef {{stack: Stack, name: string|null, isOpen: (one: {stack: string}) => boolean, stream: Stream, query: number, layer: number}} At  what
 *   is shown; `name`: of the stack, if there are several
 */

/**
 *  What each LayerNorm does to the chosen token's vector: its length before and after, and how much of the direction is
 * kept.
 */
const COLUMNS = ["where", "in", "hat", "out", "kept", "gain", "bias"];

/** @param {Part} place @param {ModelTrace} trace @param {At} at @param {Actions} actions */
export function drawNorms(place, trace, { stack, stream, query, layer }, actions) {
  const token = h("b", { class: "q mono" }, tokenName(trace.queries.tokens[query]));
  nameOfPart(place, phrase("residual.norms_title", { token }), t("residual.norms_about"));
  const head = tableHead(COLUMNS.map((name) => t(`residual.norm_${name}`)));
  const places = normsOf(stack); // in the order of the forward pass, as the answer's
  const rows = stream.norms.map((one, n) => rowOf(one, nameOf(trace.model, places[n]), { query, layer }, actions));
  const table = h("table", { class: "token-table norms", dataset: { testid: "norms" } }, head, h("tbody", null, rows));
  keepingFocus(place.place, () => drawFolded(place.place, scrolling(t("residual.norms_label"), table)));
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

const PARTS = ["stream", "norms", "gradients", "parameters"];

const elementsOf = perRoot((root) => {
  const station = buildLayerStation(root);
  const [stream, norms, gradients, parameters] = PARTS.map(part);
  const parts = { stream, norms, gradients, parameters };
  station.body.append(...Object.values(parts).map(({ element }) => element));
  return { ...station, parts };
});

/** @type {Draw} */
export function draw(root, trace, state, actions) {
  const { parts, ...station } = elementsOf(root);
  const stack = stackOf(trace.model, attentionOf(trace.model, state.attention));
  const isOpen = (/** @type {{stack: string}} */ one) => one.stack === stack.id;
  /** @type {Stream} */
  const stream = trace.explained.residual.streams.find(isOpen);
  const { query } = position(state, trace);
  const name = stacksOf(trace.model).length > 1 ? stack.id : null;
  const at = { stack, name, isOpen, stream, query, layer: state.layer };
  const [depths, tokens] = [stream.norm.length - 1, stream.norm[0].length];
  const note = t("residual.note", {
    layers: t("shape.layers", { n: depths }),
    n: tokens,
    d_model: trace.model.d_model,
  });
  drawStationStrip(station, t(name ? `residual.title.${name}` : "residual.title"), {
    formula: formulaOf(normPlace(stack)),
    note,
  });
  drawStream(parts.stream, trace, state, at, actions);
  drawNorms(parts.norms, trace, at, actions);
  drawGradients(parts.gradients, trace, state, at, actions);
  drawParameters(parts.parameters, trace);
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
