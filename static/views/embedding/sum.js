/** E[id] + token type + position = X: their matrices, and the sum of one of their cells beside the model's own. A model may add neither. */

import { roomBeside } from "../../chart/matrix/layout.js";
import { drawMatrix } from "../../chart/matrix/matrix.js";
import { scaleLegend } from "../../chart/matrix/scale.js";
import { stacksOf } from "../../model/description.js";
import { labelsOf, namesIn } from "../../model/labels.js";
import { largest, lengthOf, rowIn } from "../../model/matrix.js";
import { memo } from "../../model/memo.js";
import { position } from "../../model/selection.js";
import { inside } from "../../model/sides.js";
import { h, perRoot, replace, update } from "../../ui/dom.js";
import { checkOf, integer, number, power, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { math, mi, mn, mo, row as side, sqrt, sub } from "../../ui/mathml.js";
import { buildPager, counting, drawPager, pageOf, pageSize } from "../dimension_pages.js";
import { isScaled, scalingWords } from "../formulas.js";
import { tokenInRole } from "../inspector/parts.js";
import { summandsOf } from "../tabs.js";
import { fullGap, sharedScales, sumAt } from "./numbers.js";
import { attentionKnowsPositions } from "./swap.js";

/**
 * @import { Scale } from "../../chart/matrix/scale.js"
 * @import { Floats, ModelTrace } from "../../data/model_trace.js"
 * @import { Stack } from "../../model/description.js"
 * @import { Tab, TabActions } from "./draw.js"
 */

const NAMES = /** @type {const} */ (["embedding", "token_type", "position", "x"]);
/** @typedef {typeof NAMES[number]} Name */

/** From this width on, so many summands and their sum stand side by side, in pixels. */
const BESIDE = /** @type {Record<number, number>} */ ({ 2: 800, 3: 900 });

const SIGNS = { embedding: "", position: "+", token_type: "+", x: "=" };
/** Of their matrices. */
const IDS = { embedding: "embedding", position: "positional", token_type: "token-types", x: "embedding-x" };

const elementsOf = perRoot((place) => {
  const pager = buildPager();
  const parts = NAMES.map((name) => {
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
  const [e, k, p, x] = parts;
  const pair = h(
    "div",
    { class: "embedding-pair", dataset: { testid: "embedding-pair" } },
    ...[e.element, k.sign, k.element, p.sign, p.element, x.sign, x.element],
  );
  place.append(pager.element, pair);
  return { pager, pair, parts };
});

/**
 * The names of the matrices, as formulas. The tap "embedding" has the factor.
 * @param {Name} name @param {Stack} stack @param {number} dModel
 */
function nameOf(name, stack, dModel) {
  if (name === "x") return math(mi("X"));
  return name === "embedding" ? math(...scaled(stack, dModel, [...token()])) : math(mi(LETTERS[name]));
}

const LETTERS = { position: "P", token_type: "S" };
const token = () => [mi("E"), mo("["), mi("id"), mo("]")];

/** What is around the cells, in pixels: a sign and its gaps (in embedding.css, too), the margin of a matrix, and all of it beside one that stands alone. */
const [SIGN, MARGIN, ALONE] = [30, 12, 132];

/** So many columns have no names: the readout says which dimension is meant.*/
const unnamed = memo((/** @type {string[]} */ labels) => labels.map(() => ""));

/** @type {Tab} */
export default {
  draw(place, trace, state, actions) {
    const { pager, pair, parts } = elementsOf(place);
    const taps = summandsOf(actions.stack);
    const tensors = taps.map(({ tap }) => trace.tensor(tap));
    const x = tensors[tensors.length - 1];
    const [n, dModel] = x.shape;
    const { query: row } = position(state, trace);
    const asked = state.cell?.[1] ?? -1;
    const isAsked = asked >= 0 && asked < dModel;
    const col = isAsked ? asked : largest(rowIn(x, row));
    const summands = tensors.length - 1;
    const beside = place.clientWidth >= (BESIDE[summands] ?? Infinity);
    const labels = roomBeside(namesIn(trace.queries.tokens), { title: 0 });
    const room = beside
      ? (place.clientWidth - labels - summands * SIGN) / (summands + 1) - MARGIN
      : place.clientWidth - ALONE;
    const size = pageSize(dModel, room);
    const from = Math.floor(col / size) * size;
    pager.turn = (by) => actions.set({ query: row, cell: [row, Math.min(dModel - 1, col + by * size)] }); // moves the choice to the page
    drawPager(pager, from, size, dModel);
    replace(actions.line, summands > 1 ? sumOf(trace, actions.stack, tensors, { row, col, isAsked }) : null);
    pair.classList.toggle("beside", beside);
    update(pair, { style: { "--labels": `${labels}px`, "--more": String(summands) } });
    const { scales, shared, full } = sharedScales(tensors.map(({ data }) => data));
    replace(actions.scale, legendOf(shared, full));
    for (const part of parts) {
      const i = taps.findIndex(({ name }) => name === part.name);
      part.element.hidden = part.sign.hidden = i < 0;
      if (i >= 0) drawPart(part, tensors[i], scales[i], trace, { row, col, size, from, beside }, actions);
    }
    const has = (/** @type {Name} */ name) => taps.some((one) => one.name === name);
    const formula = math(
      mi("X"),
      mo("="),
      ...scaled(actions.stack, dModel, [...token()]),
      ...(has("token_type") ? [mo("+"), sub(mi("S"), mi("type"))] : []),
      ...(has("position") ? [mo("+"), sub(mi("P"), mi("pos"))] : []),
    );
    return { formula, note: t("embedding.sum_note", { n, d_model: dModel }) };
  },
};

/** One for all the matrices: only so can their sum be seen. @param {Scale} shared @param {number|null} full */
function legendOf(shared, full) {
  const [low, high] = shared.seen.map((end) => number(end, 2));
  const scale =
    full === null ? shared : { ...shared, ends: /** @type {[string, string]} */ ([`≤ ${low}`, `≥ ${high}`]) };
  const title = full === null ? null : t("embedding.full", { full: significant(full, 2) });
  const said = h("span", { class: "legend" }, t("embedding.one_scale"));
  return h("span", { title }, scaleLegend(scale, { number: (one) => number(one, 2) }), said);
}

/** "−0.17 … 0.16": how far its values go, on the scale that all share. @param {Scale} scale */
const rangeOf = ({ seen: [low, high] }) =>
  h("span", { class: "legend", dataset: { testid: "embedding-range" } }, `${number(low, 2)} … ${number(high, 2)}`);

/**
 * The row of the table, and its factor (Vaswani et al. 2017, section 3.4).
 * @param {Stack} stack @param {number} dModel @param {Node[]} e
 */
function scaled(stack, dModel, e) {
  return isScaled(stack) ? [sqrt(mn(dModel)), mo("·"), side(...e)] : e;
}

/**
 * The chosen cell's sum, all the others, and how long the parts of this row are.
 * @param {ModelTrace} trace
 * @param {Stack} stack @param {Floats[]} tensors  as `summandsOf` names them: X is the last
 * @param {{row: number, col: number, isAsked: boolean}} cell  `isAsked`: it was chosen
 */
function sumOf(trace, stack, tensors, { row, col, isAsked }) {
  const names = summandsOf(stack).map(({ name }) => name);
  const [x, dModel] = [tensors[tensors.length - 1], trace.model.description.d_model];
  const parts = tensors.slice(0, -1).map(({ data }) => data);
  const at = row * x.shape[1] + col;
  const value = (/** @type {number} */ number) => h("b", { class: "mono" }, significant(number, 5));
  const root = number(Math.sqrt(dModel), Number.isInteger(Math.sqrt(dModel)) ? 0 : 4);
  const plus = (/** @type {(Node|string)[]} */ nodes) => nodes.flatMap((node, i) => (i ? [" + ", node] : [node]));
  const all = () => plus(parts.map((part) => value(part[at])));
  const unscaled = () => [
    value(parts[0][at] / Math.sqrt(dModel)),
    ...plus(["", ...parts.slice(1).map((part) => value(part[at]))]),
  ];
  const sum = sumAt(parts, at);
  const words = phrase("embedding.sum", {
    token: tokenInRole(trace.queries.tokens, row, "q"),
    d: isAsked ? col : t("embedding.largest", { d: col }),
    parts: h("span", null, isScaled(stack) ? [`${root} × `, ...unscaled(), " = "] : [], ...all()),
    x: value(sum),
  });
  const { tokens, positionIds, tokenTypes } = trace.queries;
  const lengths = names.slice(0, -1).map((name, i) =>
    t(name === "embedding" && isScaled(stack) ? "embedding.length_scaled" : `embedding.length_${name}`, {
      ...{ id: tokens[row].id, pos: positionIds[row], type: tokenTypes?.[row] ?? 0 },
      length: significant(lengthOf(rowIn(tensors[i], row)), 3),
    }),
  );
  return [
    h("p", null, words, " ", checkOf(sum, x.data[at])),
    h(
      "p",
      { class: "dim" },
      t("embedding.lengths", { lengths: lengths.join(t("embedding.lengths_comma")) }),
      ...[" ", allOf(parts, x.data), " ", scalingWords(stack)],
    ),
  ];
}

/**
 * Whether every cell is the sum of its parts, with the largest difference.
 * @param {Float32Array[]} parts @param {Float32Array} x
 */
function allOf(parts, x) {
  const gap = fullGap(parts, x);
  const count = integer(x.length);
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
 * @param {ReturnType<typeof elementsOf>["parts"][number]} part @param {Floats} tensor @param {Scale} scale @param {ModelTrace} trace
 * @param {{row: number, col: number, size: number, from: number, beside: boolean}} at @param {TabActions} actions
 */
function drawPart({ name, title: head, size, legend, matrix }, tensor, scale, trace, at, actions) {
  const [n, dModel] = tensor.shape;
  const names = namesIn(trace.queries.tokens);
  const count = Math.min(at.size, dModel - at.from);
  const value = (/** @type {number} */ row, /** @type {number} */ col) =>
    significant(tensor.data[row * dModel + at.from + col], 5);
  const bare = at.beside || name !== "x";
  const isFactor = name === "embedding" && isScaled(actions.stack);
  const title = isFactor ? t("embedding.name_embedding_scaled", { d: dModel }) : t(`embedding.name_${name}`);
  replace(head, nameOf(name, actions.stack, dModel));
  replace(size, `${n} × ${dModel}`);
  const none = name === "position" && actions.stack.embedding.positions === "none";
  replace(legend, none ? noPositions(trace.model) : rangeOf(scale));
  drawMatrix(matrix, {
    id: IDS[name],
    label: t("embedding.matrix_label", { name: title, n, d_model: dModel }),
    values: pageOf(tensor, at.from, at.size),
    shape: [n, count],
    forbidden: null,
    rows: {
      labels: labelsOf(trace.queries.tokens),
      names,
      title: "",
      role: "q",
      hidden: at.beside && name !== "embedding",
      faded: (i) => !inside(trace.queries.real, i),
    },
    cols: {
      labels: counting(at.from, count),
      ...(bare ? { names: unnamed(counting(at.from, count)) } : {}),
      title: t("matrix.dimension_axis"),
      role: "",
    },
    scale,
    tall: bare,
    bare,
    cellText: (one) => number(one, 1),
    hover: (row, col) => [`${title}, ${names[row]} [${at.from + col}] = ${value(row, col)}`],
    describe: (row, col) => [
      t("embedding.cell", { name: title, token: names[row], d: at.from + col, value: value(row, col) }),
    ],
    chosen: { row: at.row, col: at.col - at.from, span: "row", role: "q" },
    onChoose: (row, col) => actions.set({ query: row, cell: [row, at.from + col] }),
    filename: ["chumoku", ...(stacksOf(trace.model).length > 1 ? [actions.stack.id] : []), name].join("-"),
  });
}
