/** A·V: what each token receives from the open head, as the weighted sum of the values that it attends to. */

import { roomBeside } from "../../chart/matrix/layout.js";
import { drawMatrix } from "../../chart/matrix/matrix.js";
import { scaleLegend, signedScale } from "../../chart/matrix/scale.js";
import { isUnchanged, rowsChanged } from "../../model/compare/compare.js";
import { comparisonOf, isBefore, isCompared } from "../../model/compare/runs.js";
import { tapOf } from "../../model/description.js";
import { isOpenHeadOff } from "../../model/edits.js";
import { labelsOf, namesIn } from "../../model/labels.js";
import { cellIn, headIn, lengthOf, rowIn } from "../../model/matrix.js";
import { queryName, rowLabels } from "../../model/written.js";
import { segment } from "../../ui/controls.js";
import { h, perRoot } from "../../ui/dom.js";
import { cellWeight, number, signed, significant } from "../../ui/format.js";
import { headLabel, headParts } from "../../ui/heads.js";
import { phrase, t } from "../../ui/i18n.js";
import { math, mi, mo, mtext, row, sub, subsup } from "../../ui/mathml.js";
import { namedLabel } from "../../ui/token_text.js";
import { drawStepper } from "../attention/stepper.js";
import { buildStation, drawHead, nameOfPart, part } from "../parts.js";
import { queryNames, reasonOf } from "../query_key.js";
import { AV_VALUES, avState } from "../view_states.js";
import { chosenElement, drawElementSum, drawShares, valued, weighted } from "./sum.js";

/**
 * @import { Matrix } from "../../chart/matrix/matrix.js"
 * @import { Scale } from "../../chart/matrix/scale.js"
 * @import { Floats, HeadTrace } from "../../data/model_trace.js"
 * @import { Alignment } from "../../model/compare/compare.js"
 * @import { Attention } from "../../model/description.js"
 * @import { Patch, State } from "../../state/store.js"
 * @import { Part } from "../parts.js"
 * @import { HeadDraw } from "../view.js"
 */

/** From this width on, z and V stand side by side, in pixels. */
const WIDE = 620;

const elementsOf = perRoot((root) => {
  const parts = buildStation(root);
  const stepper = h("div", { class: "stepper" });
  root.prepend(h("div", { class: "step-strip" }, stepper));
  const [z, v, shares] = [part("z"), part("v"), part("shares")];
  const values = segment(t("av.values.choose"), AV_VALUES, "av-values", (name) => t(`av.values.${name}`));
  v.place.after(h("div", { class: "under" }, v.about, values.box));
  const sum = h("p", { class: "act-sum", dataset: { testid: "av-sum" } });
  const frame = h("div", { class: "act-pair" }, z.element, v.element, sum, shares.element);
  parts.body.append(frame);
  return { ...parts, stepper, frame, z, v, values, sum, shares };
});

/** @type {HeadDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const z = headIn(trace.role("z", state.layer), state.head);
  const [change, off] = [changeOf(trace, state, z), isOpenHeadOff(state, trace)];
  const run = t(`compare.side.${isBefore(state) ? "before" : "after"}`);
  const size = { n: z.shape[0], m: trace.detail.v.shape[0], d_head: z.shape[1] };
  const note = change ? t("av.note_difference", { run }) : t("av.note", size);
  drawStepper(parts.stepper, trace.attention, state, actions);
  drawHead(parts, trace.model, state, { formula: formulas(valued(trace, 0).v !== trace.detail.v), note });
  // Side by side, rows of the same tokens are named once.
  const beside = parts.frame.clientWidth >= WIDE;
  const at = { ...chosenElement(state, trace), beside, once: beside && trace.queries === trace.keys };
  parts.frame.classList.toggle("beside", beside);
  const room = at.once ? roomBeside(queryNames(trace), { title: 0 }) : 0;
  parts.frame.style.setProperty("--labels", `${room}px`);
  const choose = (/** @type {Patch} */ patch) => actions.set({ query: at.query, ...patch });
  const { values } = avState.of(state);
  parts.values.show(values, (name) => actions.set(avState.patch({ values: name })));
  drawZ(parts.z, trace, state, { z, change, off }, at, choose);
  const detail = valued(trace, at.query);
  drawV(parts.v, { ...trace, detail }, state, at, values === "weighted", choose);
  drawElementSum(parts.sum, { ...trace, detail }, z, at, off);
  drawShares(parts.shares, { ...trace, detail }, at, off, (key) => choose({ key }));
}

/** Z = A V, row by row: z_i = Σ_j a_ij v_j, or Σ_j a_ij (v_j + a^V_ij) @param {boolean} withDistance */
function formulas(withDistance) {
  const v = sub(mi("v", "v"), mi("j"));
  const moved = [mtext("("), v, mo("+"), subsup(mi("a"), row(mi("i"), mi("j")), mi("V")), mtext(")")];
  const sum = row(sub(mo("∑"), mi("j")), sub(mi("a"), row(mi("i"), mi("j"))), ...(withDistance ? moved : [v]));
  if (withDistance) return [math(sub(mi("z"), mi("i")), mo("="), sum)];
  return [math(mi("Z"), mo("="), mi("A"), mi("V", "v")), math(sub(mi("z"), mi("i")), mo("="), sum)];
}

const dimensions = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => String(i));

/**
 * What z and V have in common.
 * @param {HeadTrace} trace @param {State} state
 * @param {Pick<Matrix, "id"|"rows"|"scale"|"onChoose"> & {title: string, beside: boolean, values: Floats, chosen: Omit<Matrix["chosen"], "span">,
 *   say: (row: number, dimension: number) => string}} of
 * @param {Matrix["margin"]} margin @returns {Matrix}
 */
function matrixOf(trace, state, { id, title, beside, rows, values, scale, chosen, onChoose, say }, margin) {
  const [n, dHead] = values.shape;
  return {
    id,
    title,
    label: t("av.label", { of: headLabel(trace.model, state), name: title, n, d_head: dHead }),
    values: values.data,
    shape: [n, dHead],
    forbidden: null,
    rows,
    cols: { labels: dimensions(dHead), title: t("matrix.dimension_axis"), role: "" },
    scale,
    tall: beside,
    bare: beside,
    cellText: (value) => number(value, 1),
    hover: (token, d) => [`${(rows.names ?? rows.labels)[token]} [${d}]`, say(token, d)],
    describe: (token, d) =>
      phrase("av.readout", {
        token: namedLabel((rows.names ?? rows.labels)[token], rows.role),
        dimension: d,
        words: h("b", { class: "mono" }, say(token, d)),
      }),
    chosen: { ...chosen, span: "row" },
    onChoose,
    sums: true, // the same margins on both, so that dimensions align
    margin,
    filename: ["chumoku", ...headParts(trace.model, state), id].join("-"),
  };
}

/** @typedef {ReturnType<typeof chosenElement> & {beside: boolean, once: boolean}} At */

/**
 * after − before of z, with z of the two runs where there are both; null: one run is shown.
 * @param {HeadTrace} trace @param {State} state @param {Floats} z  of the run that is shown
 */
function changeOf(trace, state, z) {
  const { model, attention } = trace;
  if (!isCompared(state, model)) return null;
  const other = headIn(trace.tensorBefore(tapOf(attention, state.layer, "z")), state.head);
  const alignment = /** @type {Alignment} */ (comparisonOf(state, model).sides[attention.queries]);
  const changed = rowsChanged(z, other, alignment, isBefore(state));
  /** @param {number} token @param {number} d */
  const say = (token, d) => {
    const there = alignment.at(token);
    if (there === null) return t("compare.nothing_beside");
    const [own, others] = [z, other].map((one, i) => significant(cellIn(one, i ? there : token, d)));
    const [was, is] = isBefore(state) ? [own, others] : [others, own];
    return t("compare.cell", { value: signed(changed.values[token * z.shape[1] + d]), was, is });
  };
  return { ...changed, say };
}

/** @typedef {{z: Floats, change: ReturnType<typeof changeOf>, off: boolean}} Shown  `off`: the head is, in the run that is shown */

/** The colours of Z; words where it has none. @param {Shown} shown @param {Scale} scale */
function aboutZ({ change, off }, scale) {
  if (change && isUnchanged(change.values)) return [t("compare.unchanged"), off && t("av.off")];
  return [(change || !off) && scaleLegend(scale, { number: (value) => number(value, 2) }), off && t("av.off")];
}

/**
 * @param {Part} place @param {HeadTrace} trace @param {State} state @param {Shown} shown @param {At} at @param {(patch: Patch) => void} choose
 */
function drawZ(place, trace, state, shown, { query, key, dimension, beside, once }, choose) {
  const { z, change } = shown;
  const values = change ? { shape: z.shape, data: change.values } : z;
  const scale = signedScale(values.data);
  const size = h("span", { class: "dim" }, z.shape.join(" × "));
  nameOfPart(place, [t(change ? "av.z_change" : "av.z_title"), " ", size], aboutZ(shown, scale));
  const title = t(once ? "matrix.position_rows" : "matrix.query_rows");
  /** @type {Matrix["rows"]} */
  const rows = {
    labels: rowLabels(trace),
    names: queryNames(trace),
    title,
    role: "q",
    also: once ? { index: key, role: "k" } : undefined,
  };
  const say = (/** @type {number} */ token, /** @type {number} */ d) => significant(cellIn(z, token, d), 5);
  drawMatrix(place.place, {
    ...matrixOf(
      trace,
      state,
      {
        id: "z",
        title: change ? t("av.z_change") : "Z",
        beside,
        rows,
        values,
        scale,
        chosen: { row: query, col: dimension, role: "q" },
        onChoose: (token, d) => choose({ query: token, cell: [token, d] }),
        say: change?.say ?? say,
      },
      { title: change ? "‖Δz‖" : "‖z‖", text: (token) => number(lengthOf(rowIn(values, token)), 2) },
    ),
    forbidden: change?.forbidden.some(Boolean) ? change.forbidden : null,
  });
}

/**
 * V of the keys that the chosen query may attend to, with its weights on the margin; or each row times its weight.
 * @param {Part} place @param {HeadTrace} trace @param {State} state @param {At} at @param {boolean} times @param {(patch: Patch) => void} choose
 */
function drawV(place, trace, state, { query, key, dimension, beside, once }, times, choose) {
  const { v, pattern, mask } = trace.detail;
  const [weights, reasons] = [rowIn(pattern, query), rowIn(mask, query)];
  const values = times ? weighted(v, weights) : v;
  const scale = signedScale(values.data, "v");
  const [labels, cols] = [labelsOf(trace.keys.tokens), v.shape[1]];
  const token = h("b", { class: "q", translate: "no" }, queryName(trace, query));
  const forbidden = reasons.some(Boolean) && t("matrix.hatched");
  const legend = scaleLegend(scale, { number: (value) => number(value, 2), forbidden });
  nameOfPart(place, phrase(titleOf(times, trace.attention), { token }), legend);
  drawMatrix(place.place, {
    ...matrixOf(
      trace,
      state,
      {
        id: "av-v",
        title: times ? "a·V" : "V",
        beside,
        rows: {
          labels,
          names: namesIn(trace.keys.tokens),
          title: t("matrix.key_rows"),
          role: "k",
          hidden: once,
          faded: (j) => reasons[j] !== 0,
        },
        values,
        scale,
        chosen: { row: key, col: dimension, role: "k" },
        onChoose: (j, d) => choose({ key: j, cell: [query, d] }),
        say: (j, d) =>
          reasons[j]
            ? t("matrix.forbidden", { reason: reasonOf(reasons[j]) })
            : said(weights[j], v.data[j * cols + d], times),
      },
      { title: "a", text: (j) => (reasons[j] ? "" : cellWeight(weights[j])) },
    ),
    forbidden: forbidden ? hatched(reasons, cols) : null,
  });
}

/** @param {boolean} times @param {Attention} attention */
const titleOf = (times, { parts }) => `av.${times ? "weighted" : "v"}_title${parts?.z ? "_distance" : ""}`;

/** A value, or the value times its weight. @param {number} weight @param {number} value @param {boolean} times */
function said(weight, value, times) {
  if (!times) return significant(value, 5);
  return t("av.product", { a: significant(weight), v: significant(value), value: significant(weight * value) });
}

/** Keys that the query may not attend to are hatched in every dimension. @param {Uint8Array} reasons @param {number} cols */
function hatched(reasons, cols) {
  const cells = new Uint8Array(reasons.length * cols);
  reasons.forEach((reason, j) => cells.fill(reason, j * cols, (j + 1) * cols));
  return cells;
}
