/**
 * Predictions by layer: what the stream would predict if the model ended after each of its layers. This is the logit
 * lens (nostalgebraist 2020), not an output of the model, and the station says so.
 */

import { drawBarPicture } from "../../../chart/bars/bar_picture.js";
import { scaleLegend, weightScale } from "../../../chart/matrix/scale.js";
import { cssColour, rampStops } from "../../../chart/theme.js";
import { answeringStack, isRms, predictsTokens, tiesEmbeddings } from "../../../model/description.js";
import { rowOf } from "../../../model/selection.js";
import { h, perRoot, replace, scrolling } from "../../../ui/dom.js";
import { percent, power } from "../../../ui/format.js";
import { firstKey, t } from "../../../ui/i18n.js";
import { math, mi, mo, row, sub, sup, transposedFormula } from "../../../ui/mathml.js";
import { className } from "../../../ui/token_text.js";
import { depthLabels, drawFormula } from "../../parts.js";
import { drawFollowed } from "./followed.js";
import { drawGrid } from "./grid.js";

/**
 * @import { ModelTrace, Prediction } from "../../../data/model_trace.js"
 * @import { Model } from "../../../model/description.js"
 * @import { VocabularyToken } from "../../../model/labels.js"
 * @import { Side } from "../../../model/sides.js"
 * @import { State } from "../../../state/store.js"
 * @import { Actions } from "../../view.js"
 */

// A classifier's lens as a table: which classes have a column, and what each is at every depth.

/** Up to this many classes all have a column; of more, only the most probable ones at the end. */
const ALL = 10;
const FIRST = 5;

/**
 * @typedef {{id: number, p: number, listed: boolean}} Cell  not `listed`: less probable than all that are, `p` the least of these
 */

/**
 * In the order of the classes, not of their size.
 * @param {{classes: string[], top: number[][][], probability: number[][][]}} lens  [depth][row][k], best first
 * @returns {{columns: number[], rows: Cell[][]}}
 */
export function classDepths({ classes, top, probability }) {
  const last = /** @type {number[][]} */ (top.at(-1))[0];
  const columns = (classes.length <= ALL ? classes.map((_, id) => id) : last.slice(0, FIRST)).sort((a, b) => a - b);
  const rows = top.map(([ids], depth) => {
    const [listed] = probability[depth];
    return columns.map((id) => {
      const at = ids.indexOf(id);
      return { id, p: listed[at < 0 ? listed.length - 1 : at], listed: at >= 0 };
    });
  });
  return { columns, rows };
}

/**
 * @typedef {{ids: (number|null)[], probability: number[][], rank: number[][]}} Followed  [row], [depth][row]: an answer through the layers
 * @typedef {Object} Lens  the answer to "lens"
 * @property {string[]|null} classes  null: answers are tokens
 * @property {Object<number, VocabularyToken>} tokens  by id
 * @property {number[]} rows  the position of each row; PADs have none
 * @property {number[][][]} top  [depth][row][k]: the most likely answers
 * @property {number[][][]} probability  theirs
 * @property {Followed & {ids: number[]}} final  the model's own
 * @property {Followed & {same: boolean[]}} next  the actual next token
 * @typedef {ModelTrace & {written: Side}} WritingTrace
 */

// The lens in words: that its last row is the model's own output, and where the final answers appear.

/** The lens comes in float64 out of float32 logits, the prediction likewise: they differ in their last digits. */
const TOLERANCE = 1e-6;

/**
 * The last depth compared with the model's own output.
 * @param {Lens} found @param {ModelTrace} trace @param {number} at  of `found.rows`
 */
function checkWords(found, trace, at) {
  const gap = trace.classes ? classGap(found, trace.classes) : tokenGap(found, trace.predictions[found.rows[at]], at);
  if (gap === null) return [];
  const key = gap === 0 ? "lens.equal" : gap <= TOLERANCE ? "lens.agrees" : "lens.differs";
  return [
    h(
      "span",
      {
        class: gap <= TOLERANCE ? "check" : "check bad",
        title: t("lens.tolerance"),
        dataset: { testid: "lens-gap", gap },
      },
      t(key, { gap: power(gap), row: found.rows[at] }),
    ),
  ];
}

/**
 * @param {Pick<Lens, "top"|"probability">} found @param {Pick<Prediction, "candidates">|undefined} prediction @param {number} at
 */
function tokenGap({ top, probability }, prediction, at) {
  if (!prediction) return null; // the row of a PAD, which has no prediction
  const before = new Map(prediction.candidates.map((candidate) => [candidate.id, candidate.before]));
  const last = top.length - 1;
  const least = Math.min(...before.values()); // a token that is not listed has no more
  const gaps = probability[last][at].map((p, i) => Math.abs((before.get(top[last][at][i]) ?? Math.min(p, least)) - p));
  return Math.max(...gaps);
}

/** @param {Pick<Lens, "top"|"probability">} found @param {{probability: number}[]} classes */
function classGap({ top, probability }, classes) {
  const last = top.length - 1;
  return Math.max(...top[last][0].map((id, i) => Math.abs(classes[id].probability - probability[last][0][i])));
}

/**
 * What the tokens themselves do before the first layer: a model with tied embeddings predicts the tokens themselves.
 * @param {Pick<Lens, "rows"|"top">} found @param {Pick<WritingTrace, "written"|"model">} trace
 */
function ownWords({ rows, top }, { written: { tokens }, model }) {
  const own = rows.filter((row, i) => top[0][i][0] === tokens[row].id).length;
  return own && tiesEmbeddings(model) ? t("lens.own", { own, n: rows.length }) : "";
}

/** A classifier through its layers: what [CLS] would predict if the model ended after each. */
const classPartsOf = perRoot((root) => {
  const [legend, bars, table] = [h("p", { class: "legend" }), h("div", null), scrolling(t("lens.classes_label"))];
  root.append(legend, bars, table);
  return { legend, bars, table };
});

/** @param {HTMLElement} root @param {Lens} found @param {ModelTrace} trace */
function drawClassDepths(root, found, trace) {
  const parts = classPartsOf(root);
  const labels = depthLabels(found.top.length);
  const classes = /** @type {string[]} */ (found.classes);
  const { columns, rows } = classDepths({ ...found, classes });
  const colours = ["--bar-pale", "--bar-solid"].map(cssColour);
  // The picture has two bars per row: with more classes, the two most likely at the end; the table has more.
  const shown = found.top[found.top.length - 1][0].slice(0, 2).sort((a, b) => a - b);
  /** @param {number} depth @param {number} id */
  const at = (depth, id) => rows[depth][columns.indexOf(id)];
  const series = shown.map((id, i) => ({ name: className(classes[id]), colour: colours[i] }));
  replace(
    parts.legend,
    series.map(({ name, colour }) => [
      h("span", { class: "swatch plain", style: { background: colour } }),
      h("span", null, name),
    ]),
  );
  drawBarPicture(parts.bars, {
    label: t("lens.classes_label"),
    rows: labels.map((label, depth) => ({
      label,
      hover: shown
        .map((id) => t("lens.class_bar", { depth: label, name: className(classes[id]), p: written(at(depth, id), 3) }))
        .join(" · "),
      values: /** @type {[number, number]} */ (shown.map((id) => at(depth, id).p)),
      marked: false,
    })),
    series,
    log: false,
    onChoose: () => {},
    filename: "chumoku-lens",
  });
  replace(parts.table, tableOf(classes, found.top, { columns, rows }, labels));
}

/** @param {Cell} cell @param {number} digits */
const written = ({ p, listed }, digits) => (listed ? percent(p, digits) : `≤ ${percent(p, digits)}`);

/**
 * @param {string[]} classes @param {Lens["top"]} top @param {ReturnType<typeof classDepths>} depths @param {string[]} labels
 */
function tableOf(classes, top, { columns, rows }, labels) {
  const head = h(
    "tr",
    null,
    h("th", { scope: "col" }, t("lens.column_depth")),
    columns.map((id) => h("th", { scope: "col" }, className(classes[id]))),
  );
  const lines = rows.map((row, depth) => {
    const first = top[depth][0][0];
    const cells = row.map((cell) => {
      const dataset = { testid: "lens-class", depth, id: cell.id, p: cell.p };
      return h("td", { class: cell.id === first ? "leads" : null, dataset }, written(cell, 2));
    });
    return h("tr", null, h("th", { scope: "row" }, labels[depth]), cells);
  });
  return h("table", { class: "lens-top" }, h("thead", null, head), h("tbody", null, lines));
}

const lensPartsOf = perRoot((place) => {
  const formula = h("div", { class: "formula" });
  const how = h("p", { class: "dim lens-about" });
  const check = h("p", { class: "lens-check", dataset: { testid: "lens-check" } });
  const [grid, followed, classes] = [h("div", null), h("div", null), h("div", null)];
  place.append(h("div", { class: "station-body" }, grid, check, classes, followed, formula, how));
  return { formula, how, check, grid, followed, classes };
});

/**
 * @param {{place: HTMLElement, aside: HTMLElement}} where  `aside`: beside the title
 * @param {ModelTrace} trace @param {State} state @param {Actions} actions
 */
export function draw({ place, aside }, trace, state, actions) {
  const parts = lensPartsOf(place);
  if (!aside.firstChild) aside.append(h("span", { class: "role" }, t("lens.badge")));
  /** @type {Lens} */
  const found = trace.explained.lens;
  const tokens = predictsTokens(trace.model);
  const writing = /** @type {WritingTrace} */ (trace);
  const at = placeOf(found, trace, state);
  const legend = scaleLegend({ ...weightScale(), stops: rampStops("share") }, { number: (one) => percent(one, 0) });
  const note = t(noteOf(trace.model));
  drawFormula(parts.formula, { formula: formulaOf(trace.model), note, legend: tokens ? legend : null });
  replace(parts.how, t(tokens ? "lens.how" : "lens.how_classes"), tokens ? [" ", ownWords(found, writing)] : null);
  parts.grid.hidden = parts.followed.hidden = !tokens;
  parts.classes.hidden = tokens;
  replace(parts.check, checkWords(found, trace, at));
  if (!tokens) return drawClassDepths(parts.classes, found, trace);
  drawGrid(parts.grid, found, writing, at, state, actions);
  drawFollowed(parts.followed, found, trace, at, state, actions);
}

/**
 * The chosen row of the lens: a PAD has none, so the nearest is used.
 * @param {Lens} found @param {ModelTrace} trace @param {State} state
 */
function placeOf({ rows }, trace, state) {
  const row = rowOf(state, trace);
  const at = rows.findIndex((one) => one >= row);
  return at < 0 ? rows.length - 1 : at;
}

/** p = softmax(LN(x) · Eᵀ), applied to every layer's x although it was trained for the last. @param {Model} model */
function formulaOf(model) {
  const classifies = !predictsTokens(model);
  const x = sup(mi("x"), row(mo("("), mi("ℓ"), mo(")")));
  const { final_norm: last } = answeringStack(model);
  const read = last ? [mi(isRms(last) ? "RMS" : "LN"), mo("("), x, mo(")")] : [x];
  const out = classifies
    ? sub(mi("W"), mi("class"))
    : tiesEmbeddings(model)
      ? transposedFormula(sub(mi("W"), mi("E")))
      : sub(mi("W"), mi("U"));
  const bias = classifies ? [mo("+"), mi("b")] : [];
  return math(
    sup(mi("p"), row(mo("("), mi("ℓ"), mo(")"))),
    mo("="),
    mi("softmax"),
    mo("("),
    ...read,
    out,
    ...bias,
    mo(")"),
  );
}

/**
 * How a stream is read: through the last norm; without one, because the blocks end with a norm, or because there is none.
 * @param {Model} model
 */
function noteOf(model) {
  const { final_norm: last, layers } = answeringStack(model);
  const place = last ? "pre" : (layers.at(-1)?.sublayers.at(-1)?.norm?.place ?? "none");
  return firstKey(
    `lens.made_${predictsTokens(model) ? "" : "classes_"}${isRms(last) ? "rms" : place}`,
    "lens.made_none",
  );
}
