/** A query × key matrix of a head: what is the same for weights, scores and mask. */

import { h } from "../lib/dom.js";
import { cellWeight, significant } from "../lib/format.js";
import { drawMatrix } from "../lib/heatmap.js";
import { weightScale } from "../lib/heatmap_scale.js";
import { phrase, t } from "../lib/i18n.js";
import { tokenLabel } from "../lib/labels.js";
import { position } from "../selectors.js";

/** What forbids a cell, bit by bit: the twins of model/masks.py. */
export const REASONS = { causal: 1, padding: 2, window: 4, edited: 8 };

/** @type {WeakMap<object[], string[]>} */
const known = new WeakMap();

/** The labels of some tokens: the same array for the same tokens. @param {import("../lib/labels.js").Token[]} tokens */
export function labelsOf(tokens) {
  if (!known.has(tokens)) known.set(tokens, tokens.map(tokenLabel));
  return /** @type {string[]} */ (known.get(tokens));
}

/** Why a cell is forbidden, in words; "" if it is not. @param {number} reasons */
export function reasonOf(reasons) {
  const names = Object.keys(REASONS).filter((name) => reasons & REASONS[name]);
  return names.map((name) => t(`matrix.reason.${name}`)).join(t("matrix.and"));
}

/**
 * Draw values by query and key. `own` says what is particular: `words(row, col)` is what a cell holds, as a string of
 * the catalogue with what fills it; the rest is as in lib/heatmap.js.
 * @param {HTMLElement} root
 * @param {import("../data/model_trace.js").ModelTrace} trace
 * @param {import("../state.js").State} state
 * @param {import("./index.js").Actions} actions
 * @param {any} own
 */
export function drawSquare(root, trace, state, actions, own) {
  const tokens = labelsOf(trace.tokens);
  const { query, key } = position(state, trace);
  const n = tokens.length;
  drawMatrix(root, {
    label: t("matrix.label", { what: own.title, layer: state.layer, head: state.head, n }),
    shape: [n, n],
    forbidden: null,
    rows: { labels: tokens, title: t("matrix.query_axis"), role: "q" },
    cols: { labels: tokens, title: t("matrix.key_axis"), role: "k" },
    hover: (row, col) => [`${tokens[row]} → ${tokens[col]}`, t(...own.words(row, col))],
    describe: (row, col) => describeCell(tokens, row, col, own.words(row, col)),
    chosen: { row: query, col: key, span: "cell", role: "q" },
    onChoose: (row, col) => actions.set({ query: row, key: col }),
    square: true,
    filename: `chumoku-layer${state.layer}-head${state.head}-${own.id}`,
    ...own,
  });
}

function describeCell(tokens, query, key, [string, { value, ...vars }]) {
  const token = (role, index) => [
    h("b", { class: `${role} mono` }, tokens[index]),
    h("small", { class: "dim" }, ` ${index}`),
  ];
  const parts = { query: h("span", null, token("q", query)), key: h("span", null, token("k", key)) };
  const words = phrase(string, { ...vars, value: h("b", { class: "mono" }, value) });
  return phrase("matrix.cell", { ...parts, words: h("span", null, words) });
}

/**
 * The weights of one head; `id` tells two of them apart.
 * @param {{id: string, title: string, detail: import("../data/model_trace.js").Detail}} which
 */
export function drawWeights(root, trace, state, actions, { id, title, detail }) {
  const { mask, pattern } = detail;
  const n = trace.tokens.length;
  drawSquare(root, trace, state, actions, {
    id,
    title,
    values: pattern.data,
    forbidden: mask.data.some(Boolean) ? mask.data : null,
    scale: weightScale(),
    cellText: cellWeight,
    sums: true,
    words(query, key) {
      const reasons = mask.data[query * n + key];
      if (reasons) return ["matrix.forbidden", { reason: reasonOf(reasons) }];
      return ["matrix.weight", { value: significant(pattern.data[query * n + key]) }];
    },
  });
}
