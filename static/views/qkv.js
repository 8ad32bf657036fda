/** Q, K and V of one head: for each token what it looks for, what it is found by, and what it passes on. */

import { roomBeside } from "../chart/matrix/layout.js";
import { drawMatrix } from "../chart/matrix/matrix.js";
import { paleScale, scaleLegend, signedScale } from "../chart/matrix/scale.js";
import { isUnchanged, rowsChanged } from "../model/compare/compare.js";
import { comparisonOf, isBefore, isCompared } from "../model/compare/runs.js";
import { has, normLetters, normPlace, stackOf } from "../model/description.js";
import { labelsOf, namesIn } from "../model/labels.js";
import { cellIn } from "../model/matrix.js";
import { position } from "../model/selection.js";
import { h, perRoot, replace, setText } from "../ui/dom.js";
import { number, signed, significant } from "../ui/format.js";
import { headLabel, headParts } from "../ui/heads.js";
import { phrase, t } from "../ui/i18n.js";
import { math, mi, mo, mtext, sub } from "../ui/mathml.js";
import { namedLabel } from "../ui/token_text.js";
import { buildStation, drawHead } from "./parts.js";
import { queryNames } from "./query_key.js";

/**
 * @import { Axis, Matrix } from "../chart/matrix/matrix.js"
 * @import { HeadTrace, ModelTrace } from "../data/model_trace.js"
 * @import { Attention, SideName } from "../model/description.js"
 * @import { State } from "../state/store.js"
 * @import { Actions, HeadDraw } from "./view.js"
 */

// The projections as formulas.

/**
 * q = LN(x) W_Q + b_Q. A model that normalises after the block projects x itself.
 * @param {"q"|"k"|"v"} name @param {{norm: string|null, bias: boolean, normed?: boolean}} of  the letters of the norm before it; `normed`: its
 *   heads go through an RMSNorm after it
 * @param {"source"|"target"|null} [side]  whose states: of x, if there is only one side
 */
function projection(name, { norm, bias, normed = false }, side = null) {
  const matrix = (/** @type {string} */ letter) => sub(mi(letter, name), mi(name.toUpperCase()));
  const x = side ? sub(mi("x"), mtext(t(`sides.${side}`))) : mi("x");
  const input = norm && side !== "source" ? [mi(norm), mtext("("), x, mtext(")")] : [x];
  const projected = [...input, matrix("W"), ...(bias ? [mo("+"), matrix("b")] : [])];
  const gain = sub(mi("γ"), mi(name, name));
  const made = normed ? [gain, mo("⊙"), mi("RMS"), mtext("("), ...projected, mtext(")")] : projected;
  return math(mi(name, name), mo("="), ...made);
}

/** From this width on, the three stand side by side, in pixels. */
const WIDE = 620;
const NAMES = /** @type {const} */ (["q", "k", "v"]);
/** Where cross-attention takes them from. */
/** @type {Record<"q"|"k"|"v", SideName>} */
const SIDES = { q: "target", k: "source", v: "source" };

const elementsOf = perRoot((root) => {
  const parts = buildStation(root);
  const thirds = { q: third("q"), k: third("k"), v: third("v") };
  const frame = h(
    "div",
    { class: "thirds" },
    NAMES.map((name) => thirds[name].element),
  );
  const from = h("p", { class: "station-note dim", dataset: { testid: "qkv-sides" } });
  parts.body.append(frame, from);
  // The dimension in the readouts. It drives no other panel, so it is not part of the page's state.
  return { ...parts, frame, from, thirds, dimension: 0, beside: false };
});

/** @typedef {typeof NAMES[number]} Name */

/** @param {Name} name */
function third(name) {
  const [head, legend, place] = [h("span", null), h("div", null), h("div", null)];
  const title = h("h2", null, h("b", { class: name }, name.toUpperCase()), head);
  const about = h("span", { class: "dim" }, t(`matrix.${name}_about`));
  const header = h("div", { class: "third-head" }, title, about, h("span", { class: "grow" }), legend);
  return { head, about, legend, place, element: h("section", { class: "third" }, header, place) };
}

/** @type {HeadDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const stack = stackOf(trace.model, trace.attention);
  const norm = normPlace(stack) === "pre" ? normLetters(stack.layers[0].sublayers[0].norm) : null;
  const [n, dHead] = trace.detail.q.shape;
  const [m] = trace.detail.k.shape;
  const note = t(n === m ? "matrix.qkv_note" : "matrix.qkv_note_crossed", { n, m, d_head: dHead });
  const crossed = trace.queries !== trace.keys;
  const formula = NAMES.map((name) =>
    projection(name, { norm, ...madeOf(trace.attention, name) }, crossed ? SIDES[name] : null),
  );
  drawHead(parts, trace.model, state, { formula, note });
  setText(parts.from, crossed ? t("matrix.qkv_crossed") : "");
  parts.from.hidden = !crossed;
  // Side by side, rows of the same tokens are named once.
  parts.beside = parts.frame.clientWidth >= WIDE;
  parts.frame.classList.toggle("beside", parts.beside);
  parts.frame.classList.toggle("crossed", crossed);
  for (const [name, names] of /** @type {const} */ ([
    ["labels", queryNames(trace)],
    ["key-labels", namesIn(trace.keys.tokens)],
  ]))
    parts.frame.style.setProperty(`--${name}`, `${roomBeside(names, { title: 0 })}px`);
  const redraw = () => draw(root, trace, state, actions);
  for (const name of NAMES) drawThird(parts, name, trace, state, { ...actions, redraw });
}

/** @param {Attention} attention @param {string} name */
const madeOf = (attention, name) => ({
  bias: `b_${name}` in attention.parameters,
  normed: has(attention, `${name}_projected`),
});

/**
 * @param {ReturnType<typeof elementsOf>} parts @param {Name} name @param {HeadTrace} trace @param {State} state
 * @param {Actions & {redraw: () => void}} actions
 */
function drawThird(parts, name, trace, state, actions) {
  const { head, about, legend, place } = parts.thirds[name];
  const own = trace.detail[name];
  const [n, dHead] = own.shape;
  const change = changeOf(name, trace, state);
  const same = change !== null && isUnchanged(change.values);
  const shown = change && !same ? change.values : own.data;
  const plain = signedScale(shown, change && !same ? "signed" : name);
  const scale = same ? paleScale(plain) : plain;
  replace(head, same ? t("card.same") : change ? t("compare.difference_about") : `${n} × ${dHead}`);
  about.hidden = change !== null;
  replace(legend, scaleLegend(scale, { number: (value) => number(value, 2) }));
  drawMatrix(place, {
    id: name,
    label: t("matrix.label_qkv", { name: name.toUpperCase(), of: headLabel(trace.model, state), n, d_head: dHead }),
    values: shown,
    shape: [n, dHead],
    forbidden: change?.forbidden.some(Boolean) ? change.forbidden : null,
    rows: rowsOf(name, trace, position(state, trace), parts.beside),
    cols: { labels: dimensions(dHead), title: t("matrix.dimension_axis"), role: "" },
    scale,
    tall: parts.beside,
    bare: parts.beside,
    cellText: (value) => number(value, 1),
    ...wordsOf(name, trace, change),
    ...choiceOf(parts, name, position(state, trace), actions),
    filename: ["chumoku", ...headParts(trace.model, state), name].join("-"),
  });
}

/**
 * after − before, and one component of it in words; null: one run is shown.
 * @param {Name} name @param {HeadTrace} trace @param {State} state
 */
function changeOf(name, { attention, model, detail, comparedDetail }, state) {
  const [own, other] = [detail[name], comparedDetail?.[name]];
  if (!isCompared(state, model) || !other) return null;
  const alignment = comparisonOf(state, model).sides[name === "q" ? attention.queries : attention.keys];
  if (!alignment) return null;
  const changed = rowsChanged(own, other, alignment, isBefore(state));
  const cell = (/** @type {number} */ row, /** @type {number} */ col) => {
    const there = alignment.at(row);
    if (there === null) return t("compare.nothing_beside");
    const [mine, others] = [cellIn(own, row, col), cellIn(other, there, col)].map((one) => significant(one));
    const [was, is] = isBefore(state) ? [mine, others] : [others, mine];
    return t("compare.cell", { value: signed(changed.values[row * own.shape[1] + col]), was, is });
  };
  return { ...changed, cell };
}

/** A row of Q is a query's, of K and V a key's. @param {ModelTrace} trace @param {Name} name */
const labelsIn = (trace, name) => (name === "q" ? queryNames(trace) : namesIn(trace.keys.tokens));

/**
 * Side by side, rows of the same tokens are named once: before the first, which then marks the chosen key too.
 * @param {"q"|"k"|"v"} name @param {HeadTrace} trace @param {{key: number}} chosen @param {boolean} beside
 * @returns {Axis}
 */
function rowsOf(name, trace, { key }, beside) {
  const { queries, keys } = trace;
  const { tokens } = name === "q" ? queries : keys;
  const same = queries === keys;
  const names = { names: labelsIn(trace, name) };
  const hidden = beside && (same ? name !== "q" : name === "v");
  if (name !== "q") return { labels: labelsOf(tokens), ...names, title: t("matrix.key_rows"), role: "k", hidden };
  const once = beside && same;
  const also = once ? { index: key, role: "k" } : undefined;
  const title = t(once ? "matrix.position_rows" : "matrix.query_rows");
  return { labels: labelsOf(tokens), ...names, title, role: "q", also };
}

/**
 * One component, for the hover and for the readout.
 * @param {Name} name @param {HeadTrace} trace @param {ReturnType<typeof changeOf>} change @returns {Pick<Matrix, "hover"|"describe">}
 */
function wordsOf(name, trace, change) {
  const { data, shape } = trace.detail[name];
  const tokens = labelsIn(trace, name);
  const one = (/** @type {number} */ row, /** @type {number} */ col) => significant(data[row * shape[1] + col], 5);
  const value = change?.cell ?? one;
  const token = (/** @type {number} */ row) => namedLabel(tokens[row], name);
  return {
    hover: (row, col) => [`${name}(${tokens[row]})[${col}] = ${value(row, col)}`],
    describe: (row, col) =>
      phrase("matrix.component", {
        name: h("b", { class: name }, name),
        token: token(row),
        dimension: col,
        value: h("b", { class: "mono" }, value(row, col)),
      }),
  };
}

/**
 * A row of Q is a query; a row of K or V is a key.
 * @param {{dimension: number}} parts @param {Name} name @param {{query: number, key: number}} chosen
 * @param {{set: Actions["set"], redraw: () => void}} actions @returns {Pick<Matrix, "chosen"|"onChoose">}
 */
function choiceOf(parts, name, chosen, { set, redraw }) {
  const role = name === "q" ? "query" : "key";
  return {
    chosen: { row: chosen[role], col: parts.dimension, span: "row", role: name },
    onChoose(row, col) {
      parts.dimension = col;
      if (row === chosen[role]) redraw();
      else set({ [role]: row });
    },
  };
}

/** @type {Map<number, string[]>} */
const counted = new Map();

/** "0" … "31": the same array each time. @param {number} count */
function dimensions(count) {
  if (!counted.has(count))
    counted.set(
      count,
      Array.from({ length: count }, (_, i) => String(i)),
    );
  return /** @type {string[]} */ (counted.get(count));
}
