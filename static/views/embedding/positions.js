/** The position table: its rows, their similarity, and what follows after the trained length. */

import { drawMatrix } from "../../chart/matrix/matrix.js";
import { scaleLegend, signedScale } from "../../chart/matrix/scale.js";
import { embeddingState } from "../../data/embedding.js";
import { position } from "../../model/selection.js";
import { segment } from "../../ui/controls.js";
import { h, perRoot, replace, setText } from "../../ui/dom.js";
import { checkOf, number, power, significant } from "../../ui/format.js";
import { firstKey, keyFor, phrase, t } from "../../ui/i18n.js";
import { frac, math, mi, mn, mo, mtext, row, sub, sup } from "../../ui/mathml.js";
import { buildPager, counting, drawPager, pageOf, pageSize } from "../dimension_pages.js";
import { diagonal, gapToFormula, positionAngle, sharedScales, sinusoid } from "./numbers.js";

/**
 * @import { Axis } from "../../chart/matrix/matrix.js"
 * @import { FetchedTrace, Floats } from "../../data/model_trace.js"
 * @import { Side } from "../../model/sides.js"
 * @import { State } from "../../state/store.js"
 * @import { Tab, TabActions } from "./draw.js"
 */

/** The labels, the title and the margin of a matrix, in pixels. */
const AROUND = 132;

// Texts about a position table: its formula, one of its rows, the similarity of two rows.

/** @param {Positions["kind"]} kind @param {number} dModel */
function positionFormula(kind, dModel) {
  const name = (/** @type {Node[]} */ index) => sub(mi("P"), row(mi("pos"), mo(","), ...index));
  if (kind === "sinusoidal")
    return [wave(name([mn(2), mi("i")]), "sin", dModel), wave(name([mn(2), mi("i"), mo("+"), mn(1)]), "cos", dModel)];
  const vector = sub(mi("P"), mi("pos"));
  if (kind === "learned") return [math(vector, mo("="), sub(mi("W"), mi("P")), mo("["), mi("pos"), mo("]"))];
  return [kind === "none" ? math(vector, mo("="), mn(0)) : math(vector)];
}

/** sin(pos / 10000^(2i/256)) @param {Node} name @param {"sin"|"cos"} fn @param {number} dModel */
function wave(name, fn, dModel) {
  const exponent = row(mn(2), mi("i"), mo("/"), mn(dModel));
  return math(name, mo("="), mi(fn), mtext("("), mi("pos"), mo("/"), sup(mn(10000), exponent), mtext(")"));
}

/**
 * The chosen number; for a sinusoid, with its formula filled in beside the table's number.
 * @param {Positions} found @param {FetchedTrace} trace @param {{row: number, col: number}} at
 */
function rowWords({ kind, table, trained }, trace, { row: pos, col }) {
  const [, dModel] = table.shape;
  const own = table.data[pos * dModel + col];
  const value = (/** @type {string|number} */ one) => h("b", { class: "mono" }, one);
  const where = { pos: value(pos), d: value(col), from: whoIsAt(trace, pos, trained) };
  if (kind !== "sinusoidal") {
    const words = kind === "learned" ? "embedding.row_learned" : "embedding.row_value";
    return phrase(words, { ...where, value: value(significant(own, 5)) });
  }
  const made = sinusoid(pos, col, dModel);
  const fn = col % 2 ? "cos" : "sin";
  const formula = math(
    mi(fn),
    mtext("("),
    mn(pos),
    mo("/"),
    sup(mn(10000), frac(mn(col - (col % 2)), mn(dModel))),
    mtext(")"),
    mo("="),
    mi(fn),
    mtext("("),
    mn(significant(positionAngle(pos, col, dModel), 5)),
    mtext(")"),
    mo("="),
    mn(significant(made, 5)),
  );
  return [...phrase("embedding.row_sinusoid", { ...where, formula }), " ", checkOf(made, own)];
}

/**
 * The token of this sentence at the position.
 * @param {FetchedTrace} trace @param {number} pos @param {number} trained
 */
function whoIsAt({ model, queries: { positionIds, real } }, pos, trained) {
  const [first, last] = [positionIds[real.start], positionIds[real.end - 1]];
  if (pos >= trained) return t("embedding.at_beyond");
  return pos >= first && pos <= last
    ? t(keyFor(model, "embedding.at_token"), { index: positionIds.indexOf(pos, real.start) })
    : t(keyFor(model, "embedding.at_free"), { first, last });
}

/** Whether the whole table equals the formula. @param {Positions} found */
function tableWords({ kind, table }) {
  if (kind !== "sinusoidal") return "";
  const gap = gapToFormula(table);
  const key = gap <= 1e-5 ? "embedding.table_agrees" : "embedding.table_differs";
  return h("span", { class: "dim", dataset: { testid: "table-gap", gap } }, t(key, { gap: power(gap) }));
}

/** The similarity of neighbouring and of distant rows; for a sinusoid, also that only the distance counts. @param {Positions} found */
function similarityWords({ kind, similarity, trained }) {
  const far = Math.max(1, Math.floor(trained / 2));
  const [near, apart] = [1, far].map((distance) => diagonal(similarity, distance));
  const words = [t("embedding.similarity_said", { near: number(near.mean, 3), far, apart: number(apart.mean, 3) })];
  if (kind === "sinusoidal") {
    const spreads = Array.from({ length: similarity.shape[0] - 1 }, (_, i) => diagonal(similarity, i + 1).spread);
    const spread = Math.max(0, ...spreads);
    if (spread <= 1e-5) words.push(" ", t("embedding.similarity_distance", { gap: power(spread) }));
  }
  return words;
}

/** @typedef {{kind: string, trained: number, beyond: "continues"|"nothing", table: Floats, similarity: Floats}} Positions */

const elementsOf = perRoot((place) => {
  const section = (/** @type {string} */ title) => {
    const [size, legend, tools, said, matrix] = [
      h("span", { class: "dim" }),
      h("div", null),
      h("div", null),
      h("p", { class: "embedding-said" }),
      h("div", null),
    ];
    const head = h("div", { class: "third-head" }, h("h2", null, t(title)), size, h("span", { class: "grow" }), legend);
    return { size, legend, tools, said, matrix, element: h("section", { class: "third" }, head, tools, said, matrix) };
  };
  const [table, similarity] = [section("embedding.table"), section("embedding.similarity")];
  const pager = buildPager();
  const lengths = segment(t("embedding.length"), ["window", "beyond"], "length", () => "");
  table.tools.append(lengths.box, pager.element);
  table.said.dataset.testid = "position-row";
  similarity.said.dataset.testid = "position-similarity";
  const beyond = h("p", { class: "embedding-note", dataset: { testid: "position-beyond" } });
  place.append(beyond, table.element, similarity.element);
  // The chosen place in the table. It may be outside the sentence, so it is not part of the page's state.
  const at = { of: "", row: 0, col: 0, other: 0 };
  return { table, similarity, beyond, pager, lengths, at };
});

/** @typedef {ReturnType<typeof elementsOf>} PositionParts */

/** @type {Tab} */
export default {
  draw(place, trace, state, actions) {
    const parts = elementsOf(place);
    const { meta, tensors } = trace.explained.positions;
    /** @type {Positions} */
    const found = { ...meta, ...tensors };
    const empty = found.table.shape[0] === 0;
    for (const { element } of [parts.table, parts.similarity]) element.hidden = empty;
    setText(
      parts.beyond,
      t(`embedding.beyond_${found.kind === "none" ? "none" : found.beyond}`, {
        n: found.trained,
        last: found.trained - 1,
      }),
    );
    if (!empty) {
      lookAt(parts, found, trace, state);
      drawLengths(parts, found, state, actions);
      drawTable(parts, place, found, trace, actions);
      drawSimilarity(parts, found, actions);
    }
    const note = t(firstKey(`embedding.kind_${found.kind}`, "embedding.kind_other"), {
      kind: found.kind,
      n: found.trained,
      d_model: trace.model.d_model,
    });
    return { formula: positionFormula(found.kind, trace.model.d_model), note };
  },
};

/**
 * The chosen token's place, until another row, token, side or sentence is chosen; clamped to the table.
 * @param {PositionParts} parts @param {Positions} found @param {FetchedTrace} trace @param {State} state
 */
function lookAt({ at }, { table: { shape } }, trace, state) {
  const { query, key } = position(state, trace);
  const placeOf = (/** @type {Side} */ side, /** @type {number} */ index) =>
    Math.min(side.positionIds[index], shape[0] - 1);
  const of = [trace.key, trace.attention.id, query].join(" ");
  if (at.of !== of) Object.assign(at, { of, row: placeOf(trace.queries, query), other: placeOf(trace.keys, key) });
  at.row = Math.min(at.row, shape[0] - 1);
  at.other = Math.min(at.other, shape[0] - 1);
  at.col = Math.min(at.col, shape[1] - 1);
}

/** @param {PositionParts} parts @param {Positions} found @param {State} state @param {TabActions} actions */
function drawLengths({ lengths }, { beyond, trained }, state, actions) {
  lengths.box.hidden = beyond !== "continues";
  const longer = embeddingState.of(state).length === 2 * trained;
  setText(lengths.buttons.window, t("embedding.length_window", { n: trained }));
  setText(lengths.buttons.beyond, t("embedding.length_beyond", { n: 2 * trained }));
  lengths.show(longer ? "beyond" : "window", (name) =>
    actions.set(embeddingState.patch({ length: name === "beyond" ? 2 * trained : null })),
  );
}

/**
 * @param {PositionParts} parts @param {HTMLElement} place @param {Positions} found @param {FetchedTrace} trace @param {TabActions} actions
 */
function drawTable({ table, at, pager }, place, found, trace, actions) {
  const [n, dModel] = found.table.shape;
  const size = pageSize(dModel, place.clientWidth - AROUND);
  const from = Math.floor(at.col / size) * size;
  const count = Math.min(size, dModel - from);
  const move = (/** @type {number} */ row, /** @type {number} */ col) => {
    Object.assign(at, { row, col });
    actions.redraw();
  };
  drawPager(pager, from, size, dModel);
  pager.turn = (by) => move(at.row, Math.min(dModel - 1, at.col + by * size));
  replace(table.size, `${n} × ${dModel}`);
  replace(table.said, rowWords(found, trace, at), " ", tableWords(found));
  const {
    scales: [scale],
    full,
  } = sharedScales([found.table.data]);
  replace(
    table.legend,
    full && h("span", { class: "legend" }, t("embedding.full", { full: significant(full, 2) })),
    scaleLegend(scale, { number: (one) => number(one, 2) }),
  );
  drawMatrix(table.matrix, {
    id: "position-table",
    label: t("embedding.table_label", { n, d_model: dModel }),
    values: pageOf(found.table, from, size),
    shape: [n, count],
    cols: { labels: counting(from, count), title: t("matrix.dimension_axis"), role: "" },
    ...common(found),
    scale,
    ...wordsOf(
      found.table.data,
      (row, col) => row * dModel + from + col,
      (row, col) => ["embedding.table_cell", { pos: row, d: from + col }],
    ),
    chosen: { row: at.row, col: at.col - from, span: "row", role: "q" },
    onChoose: (row, col) => move(row, from + col),
    filename: "chumoku-positions",
  });
}

/** @param {PositionParts} parts @param {Positions} found @param {TabActions} actions */
function drawSimilarity({ similarity, at }, found, actions) {
  const [n] = found.similarity.shape;
  const { data } = found.similarity;
  const scale = { ...signedScale(data), min: -1, max: 1 };
  replace(similarity.size, `${n} × ${n}`);
  replace(similarity.said, similarityWords(found));
  replace(similarity.legend, scaleLegend(scale, { number: (one) => number(one, 2) }));
  drawMatrix(similarity.matrix, {
    id: "position-similarity",
    label: t("embedding.similarity_label", { n }),
    values: data,
    shape: [n, n],
    cols: { labels: counting(0, n), title: t("embedding.position_cols"), role: "" },
    ...common(found),
    edges: n > found.trained ? { row: found.trained, col: found.trained } : undefined,
    scale,
    ...wordsOf(
      data,
      (row, col) => row * n + col,
      (row, col) => ["embedding.similarity_cell", { a: row, b: col }],
    ),
    chosen: { row: at.row, col: at.other, span: "cell", role: "q" },
    onChoose(row, col) {
      Object.assign(at, { row, other: col });
      actions.redraw();
    },
    square: true,
    filename: "chumoku-positions-similarity",
  });
}

/** Shared by both pictures: a row for each position, and a line where training ended. @param {Positions} found */
function common({
  table: {
    shape: [n],
  },
  trained,
}) {
  /** @type {Axis} */
  const rows = { labels: counting(0, n), title: t("embedding.position_rows"), role: "", faded: (i) => i >= trained };
  return {
    forbidden: null,
    rows,
    edges: n > trained ? { row: trained } : undefined,
    cellText: (/** @type {number} */ one) => number(one, 2),
  };
}

/**
 * One number in words: where it is among `data`, and the key of the catalogue with what fills it.
 * @param {Float32Array} data @param {(row: number, col: number) => number} index
 * @param {(row: number, col: number) => [string, Object<string, any>]} words
 */
function wordsOf(data, index, words) {
  const said = (/** @type {number} */ row, /** @type {number} */ col) => {
    const [key, vars] = words(row, col);
    return [t(key, { ...vars, value: significant(data[index(row, col)], 5) })];
  };
  return { hover: said, describe: said };
}
