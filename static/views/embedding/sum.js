/** E[id] + position = X: their matrices, and the sum of one of their cells beside the model's own. Without positions, E[id] = X. */

import { roomBeside } from "../../chart/matrix/layout.js";
import { drawMatrix } from "../../chart/matrix/matrix.js";
import { scaleLegend } from "../../chart/matrix/scale.js";
import { stacksOf } from "../../model/description.js";
import { tokenName } from "../../model/labels.js";
import { largest, lengthOf, rowIn } from "../../model/matrix.js";
import { memo } from "../../model/memo.js";
import { position } from "../../model/selection.js";
import { inside } from "../../model/sides.js";
import { h, perRoot, replace, setText } from "../../ui/dom.js";
import { checkOf, integer, number, power, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { math, mi, mn, mo, row as side, sqrt, sub } from "../../ui/mathml.js";
import { buildPager, counting, drawPager, pageOf, pageSize } from "../dimension_pages.js";
import { isScaled, scalingWords } from "../formulas.js";
import { labelsOf, namesIn } from "../query_key.js";
import { summandsOf } from "../tabs.js";
import { fullGap, sharedScales } from "./numbers.js";
import { attentionKnowsPositions } from "./swap.js";

/**
 * @import { Scale } from "../../chart/matrix/scale.js"
 * @import { Floats, ModelTrace } from "../../data/model_trace.js"
 * @import { Stack } from "../../model/description.js"
 * @import { Tab, TabActions } from "./draw.js"
 */

const NAMES = /** @type {const} */ (["embedding", "position", "x"]);
/** @typedef {typeof NAMES[number]} Name */

/** From this width on, what and where stand side by side, in pixels. */
const BESIDE = 700;

const SIGNS = { embedding: "", position: "+", x: "=" };

const elementsOf = perRoot((place) => {
  const pager = buildPager();
  const thirds = NAMES.map((name) => {
    const [title, size] = [h("span", null), h("span", { class: "dim" })];
    const [legend, matrix] = [h("div", null), h("div", null)];
    const about = h("span", { class: "dim" }, t(`embedding.${name}_about`));
    const head = h(
      "div",
      { class: "third-head" },
      h("h2", null, title, size),
      about,
      h("span", { class: "grow" }),
      legend,
    );
    const sign = h("div", { class: `embedding-sign ${name}`, "aria-hidden": true }, SIGNS[name]);
    return { name, sign, title, size, about, legend, matrix, element: h("section", { class: "third" }, head, matrix) };
  });
  const [e, p, x] = thirds;
  const pair = h(
    "div",
    { class: "embedding-pair", dataset: { testid: "embedding-pair" } },
    e.element,
    p.sign,
    p.element,
  );
  place.append(pager.element, pair, x.sign, x.element);
  return { pager, pair, thirds };
});

/**
 * The names of the three matrices, as formulas. The tap "embedding" has the factor.
 * @param {Name} name @param {Stack} stack @param {number} dModel
 */
function nameOf(name, stack, dModel) {
  if (name === "x") return math(mi("X"));
  return name === "embedding" ? math(...scaled(stack, dModel, [...token()])) : math(mi("P"));
}

const token = () => [mi("E"), mo("["), mi("id"), mo("]")];

/** So many columns have no names: the readout says which dimension is meant.*/
const unnamed = memo((/** @type {string[]} */ labels) => labels.map(() => ""));

/** @type {Tab} */
export default {
  draw(place, trace, state, actions) {
    const parts = elementsOf(place);
    const taps = summandsOf(actions.stack);
    const tensors = taps.map(({ tap }) => trace.tensor(tap));
    const x = tensors[tensors.length - 1];
    const [n, dModel] = x.shape;
    const { query: row } = position(state, trace);
    const asked = state.cell?.[1] ?? -1;
    const isAsked = asked >= 0 && asked < dModel;
    const col = isAsked ? asked : largest(rowIn(x, row));
    const size = pageSize(dModel, place.clientWidth / (place.clientWidth >= BESIDE ? 2 : 1));
    const from = Math.floor(col / size) * size;
    parts.pager.turn = (by) => actions.set({ query: row, cell: [row, Math.min(dModel - 1, col + by * size)] }); // moves the choice to the page
    drawPager(parts.pager, from, size, dModel);
    replace(actions.line, tensors.length === 3 ? sumOf(trace, actions.stack, tensors, { row, col, isAsked }) : null);
    const beside = tensors.length === 3 && place.clientWidth >= BESIDE;
    parts.pair.classList.toggle("beside", beside);
    parts.pair.style.setProperty("--labels", `${roomBeside(namesIn(trace.queries.tokens), { title: 0 })}px`);
    const { scales, full } = sharedScales(tensors.map(({ data }) => data));
    if (trace.queries.tokenTypes) setText(parts.thirds[1].about, t("embedding.position_type_about"));
    for (const third of parts.thirds) {
      const i = taps.findIndex(({ name }) => name === third.name);
      third.element.hidden = third.sign.hidden = i < 0;
      if (i >= 0) drawThird(third, tensors[i], scales[i], trace, { row, col, size, from, beside }, actions);
    }
    const formula = math(
      mi("X"),
      mo("="),
      ...scaled(actions.stack, dModel, [...token()]),
      ...(tensors.length === 3 ? [mo("+"), sub(mi("P"), mi("pos"))] : []),
    );
    const legend = full && h("span", { class: "legend" }, t("embedding.full", { full: significant(full, 2) }));
    return { formula, note: t("embedding.sum_note", { n, d_model: dModel }), legend };
  },
};

/**
 * The row of the table, and its factor (Vaswani et al. 2017, section 3.4).
 * @param {Stack} stack @param {number} dModel @param {Node[]} e
 */
function scaled(stack, dModel, e) {
  return isScaled(stack) ? [sqrt(mn(dModel)), mo("·"), side(...e)] : e;
}

/**
 * The chosen cell's sum, all the others, and how long the two parts of this row are.
 * @param {ModelTrace} trace
 * @param {Stack} stack @param {Floats[]} tensors  [e, p, x]
 * @param {{row: number, col: number, isAsked: boolean}} cell  `isAsked`: it was chosen
 */
function sumOf(trace, stack, [e, p, x], { row, col, isAsked }) {
  const at = row * x.shape[1] + col;
  const sum = Math.fround(e.data[at] + p.data[at]);
  const [scales, dModel] = [isScaled(stack), trace.model.description.d_model];
  const value = (/** @type {number} */ number, role = "") => h("b", { class: `mono ${role}` }, significant(number, 5));
  const where = {
    token: h("b", { class: "mono q" }, tokenName(trace.queries.tokens[row])),
    i: h("small", { class: "dim" }, row),
    d: isAsked ? col : t("embedding.largest", { d: col }),
  };
  /** @type {Record<string, string|Node>} */
  const factors = scales
    ? {
        root: number(Math.sqrt(dModel), Number.isInteger(Math.sqrt(dModel)) ? 0 : 4),
        raw: value(e.data[at] / Math.sqrt(dModel)),
        again: value(p.data[at]),
      }
    : {};
  const words = phrase(scales ? "embedding.sum_scaled" : "embedding.sum", {
    ...where,
    ...factors,
    e: value(e.data[at]),
    p: value(p.data[at]),
    x: value(sum),
  });
  const lengths = {
    token: significant(lengthOf(rowIn(e, row)), 3),
    position: significant(lengthOf(rowIn(p, row)), 3),
    id: trace.queries.tokens[row].id,
    pos: trace.queries.positionIds[row],
  };
  return [
    h("p", null, words, " ", checkOf(sum, x.data[at])),
    h(
      "p",
      { class: "dim" },
      t(scales ? "embedding.lengths_scaled" : "embedding.lengths", lengths),
      " ",
      allOf(e, p, x),
      " ",
      scalingWords(stack),
    ),
  ];
}

/**
 * Whether every cell is the sum of its two parts, with the largest difference.
 * @param {Floats} e @param {Floats} p @param {Floats} x
 */
function allOf(e, p, x) {
  const gap = fullGap(e.data, p.data, x.data);
  const count = integer(x.data.length);
  const data = { testid: "embedding-all", gap };
  return h(
    "span",
    { dataset: data },
    gap <= 1e-5
      ? t(gap === 0 ? "embedding.all_equal" : "embedding.all_close", { count, gap: power(gap) })
      : t("embedding.all_differ", { gap: power(gap) }),
  );
}

/** Where the order comes in, in a model that adds nothing to its embeddings. @param {ModelTrace["model"]} model */
const noPositions = (model) =>
  h(
    "span",
    { class: "no-positions" },
    t(`embedding.nothing_${attentionKnowsPositions(model) ? "attention" : "added"}`),
  );

/**
 * @param {ReturnType<typeof elementsOf>["thirds"][number]} third @param {Floats} tensor @param {Scale} scale @param {ModelTrace} trace
 * @param {{row: number, col: number, size: number, from: number, beside: boolean}} at @param {TabActions} actions
 */
function drawThird({ name, title: head, size, legend, matrix }, tensor, scale, trace, at, actions) {
  const [n, dModel] = tensor.shape;
  const tokens = labelsOf(trace.queries.tokens);
  const count = Math.min(at.size, dModel - at.from);
  const value = (/** @type {number} */ row, /** @type {number} */ col) =>
    significant(tensor.data[row * dModel + at.from + col], 5);
  const isFactor = name === "embedding" && isScaled(actions.stack);
  const title = isFactor ? t("embedding.name_embedding_scaled", { d: dModel }) : t(`embedding.name_${name}`);
  replace(head, nameOf(name, actions.stack, dModel));
  replace(size, `${n} × ${dModel}`);
  const none = name === "position" && actions.stack.embedding.positions === "none";
  replace(legend, none ? noPositions(trace.model) : scaleLegend(scale, { number: (one) => number(one, 2) }));
  drawMatrix(matrix, {
    id: name === "x" ? "embedding-x" : name === "position" ? "positional" : "embedding",
    label: t("embedding.matrix_label", { name: title, n, d_model: dModel }),
    values: pageOf(tensor, at.from, at.size),
    shape: [n, count],
    forbidden: null,
    rows: {
      labels: tokens,
      names: namesIn(trace.queries.tokens),
      title: "",
      role: "q",
      hidden: at.beside && name === "position",
      faded: (i) => !inside(trace.queries.real, i),
    },
    cols: {
      labels: counting(at.from, count),
      ...(name === "x" ? {} : { names: unnamed(counting(at.from, count)) }),
      title: t("matrix.dimension_axis"),
      role: "",
    },
    scale,
    tall: name !== "x",
    bare: name !== "x",
    cellText: (one) => number(one, 1),
    hover: (row, col) => [`${title}, ${tokens[row]} ${row} [${at.from + col}] = ${value(row, col)}`],
    describe: (row, col) => [
      t("embedding.cell", { name: title, token: tokens[row], i: row, d: at.from + col, value: value(row, col) }),
    ],
    chosen: { row: at.row, col: at.col - at.from, span: "row", role: "q" },
    onChoose: (row, col) => actions.set({ query: row, cell: [row, at.from + col] }),
    filename: ["chumoku", ...(stacksOf(trace.model).length > 1 ? [actions.stack.id] : []), name].join("-"),
  });
}
