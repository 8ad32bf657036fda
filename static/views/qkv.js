/** Q, K and V of one head: for each token what it asks for, what it offers, and what it hands over. */

import { h, perRoot, replace } from "../lib/dom.js";
import { number, significant } from "../lib/format.js";
import { drawMatrix } from "../lib/heatmap.js";
import { roomBeside } from "../lib/heatmap_layout.js";
import { legendOf, signedScale } from "../lib/heatmap_scale.js";
import { phrase, t } from "../lib/i18n.js";
import * as formulas from "./formulas.js";
import { position } from "../selectors.js";
import { buildStation, drawHead } from "./opened_head.js";
import { labelsOf } from "./query_key.js";

const FEW = 14;
const WIDE = 620;
const NAMES = /** @type {const} */ (["q", "k", "v"]);

const partsOf = perRoot((root) => {
  const parts = buildStation(root);
  const thirds = Object.fromEntries(NAMES.map((name) => [name, third(name)]));
  const frame = h("div", { class: "thirds" }, NAMES.map((name) => thirds[name].element));
  parts.body.append(frame);
  // The dimension that the readouts tell of: it drives no other panel, so it is no part of the page's state.
  return { ...parts, frame, thirds, dimension: 0 };
});

function third(name) {
  const [head, legend, place] = [h("span", null), h("div", null), h("div", null)];
  const title = h("h2", null, h("b", { class: name }, name.toUpperCase()), head);
  const about = h("span", { class: "dim" }, t(`matrix.${name}_about`));
  const header = h("header", null, title, about, h("span", { class: "grow" }), legend);
  return { head, legend, place, element: h("section", { class: "third" }, header, place) };
}

export default {
  id: "qkv",
  needs: ["detail"],
  draw(root, trace, state, actions) {
    const parts = partsOf(root);
    const normFirst = trace.model.norm_order === "pre";
    const [n, dHead] = trace.detail.q.shape;
    const note = t("matrix.qkv_note", { n, d_head: dHead });
    drawHead(parts, state, { formula: NAMES.map((name) => formulas.projection(name, normFirst)), note });
    // Few tokens: one below the other, with large cells. Many: side by side, with the tokens named once.
    parts.beside = n > FEW && parts.frame.clientWidth >= WIDE;
    parts.frame.classList.toggle("beside", parts.beside);
    parts.frame.style.setProperty("--labels", `${roomBeside(labelsOf(trace.tokens))}px`);
    for (const name of NAMES) drawThird(parts, name, trace, state, actions, () => this.draw(root, trace, state, actions));
  },
};

function drawThird(parts, name, trace, state, actions, redraw) {
  const { head, legend, place } = parts.thirds[name];
  const tensor = trace.detail[name];
  const scale = signedScale(tensor.data, name);
  replace(head, `${tensor.shape[0]} × ${tensor.shape[1]}`);
  replace(legend, legendOf(scale, { number: (value) => number(value, 2) }));
  const chosen = position(state, trace);
  const role = name === "q" ? "query" : "key";
  const tokens = labelsOf(trace.tokens);
  const value = (row, col) => significant(tensor.data[row * tensor.shape[1] + col], 5);
  drawMatrix(place, {
    id: name,
    label: t("matrix.label_qkv", { name: name.toUpperCase(), layer: state.layer, head: state.head, n: tensor.shape[0], d_head: tensor.shape[1] }),
    values: tensor.data,
    shape: tensor.shape,
    forbidden: null,
    rows: rowsOf(name, tokens, chosen, parts.beside),
    cols: { labels: dimensions(tensor.shape[1]), title: t("matrix.dimension_axis"), role: "" },
    scale,
    cellText: (x) => number(x, 1),
    hover: (row, col) => [`${name}(${tokens[row]})[${col}] = ${value(row, col)}`],
    describe: (row, col) => describe(name, tokens[row], row, col, value(row, col)),
    chosen: { row: chosen[role], col: parts.dimension, span: "row", role: name },
    onChoose(row, col) {
      parts.dimension = col;
      if (row === chosen[role]) redraw();
      else actions.set({ [role]: row });
    },
    filename: `chumoku-layer${state.layer}-head${state.head}-${name}`,
  });
}

/** Beside each other, Q's labels serve all three: they then show the chosen key too. */
function rowsOf(name, tokens, { key }, beside) {
  if (name !== "q") return { labels: tokens, title: t("matrix.key_rows"), role: "k", hidden: beside };
  const also = beside ? { index: key, role: "k" } : undefined;
  return { labels: tokens, title: t(beside ? "matrix.position_rows" : "matrix.query_rows"), role: "q", also };
}

function describe(name, token, row, col, value) {
  const label = [h("b", { class: `${name} mono` }, token), h("small", { class: "dim" }, ` ${row}`)];
  const parts = { token: h("span", null, label), dimension: col, value: h("b", { class: "mono" }, value) };
  return phrase("matrix.component", { ...parts, name: h("b", { class: `${name}` }, name) });
}

/** @type {Map<number, string[]>} */
const counted = new Map();

/** "0" … "31": the same array each time. @param {number} count */
function dimensions(count) {
  if (!counted.has(count)) counted.set(count, Array.from({ length: count }, (_, i) => String(i)));
  return /** @type {string[]} */ (counted.get(count));
}
