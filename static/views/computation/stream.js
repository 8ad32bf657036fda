/** The residual stream: what a sublayer adds to it, and the blocks that the walk skips. */

import { isRms } from "../../model/description.js";
import { isMade } from "../../model/formula_edits.js";
import { cellIn, deviationOf, normalised, rowIn, sum } from "../../model/matrix.js";
import { t } from "../../ui/i18n.js";
import { frac, math, mi, mn, mo, mtext, row, sqrt, sub, sup } from "../../ui/mathml.js";
import { asRow, depthOf } from "./matrices.js";
import { normed, stacked, stream, written } from "./product.js";
import { NORMS, SKIPPED, sumOf } from "./taps.js";

/**
 * @import { Norm } from "../../model/description.js"
 * @import { Matrix } from "../../model/matrix.js"
 * @import { Kind } from "./kinds.js"
 * @import { Arithmetic, Mat } from "./product.js"
 * @import { Step } from "./steps.js"
 */

/** @type {Mat["lit"]} */
const both = (row, col) => ({ row, col });
/**
 * @param {string} id @param {string} op @param {() => Node} name @param {Matrix} matrix @param {string[]} queries
 * @param {Partial<Mat>} [more] @returns {Mat}
 */
export const mat = (id, op, name, matrix, queries, more = {}) => ({
  id,
  op,
  name,
  matrix,
  whose: "query",
  rows: queries,
  lit: both,
  ...more,
});

/**
 * The blocks that the walk skips: the stream before and after them.
 * @param {"before"|"rest"} kind @param {(step: Step) => {first: number, last: number, leads: number}} of @returns {Kind}
 */
function skipped(kind, of) {
  return {
    formula(step) {
      const { first, last } = of(step);
      const block = (/** @type {number} */ layer) => sub(mi("Block"), mn(layer));
      const inside = first === last ? [block(first)] : [block(last), mo("∘"), mo("…"), mo("∘"), block(first)];
      return math(mi("X"), mo("←"), ...inside, row(mtext("("), mi("X"), mtext(")")));
    },
    picture({ trace, step, queries }) {
      const named = (/** @type {number} */ layer) => () => sub(mi("X"), mn(layer));
      const { first, last } = of(step);
      const { from, to } = SKIPPED[kind](step);
      return stacked([
        mat("a", "", named(first), trace.tensor(from), queries),
        mat("c", "→", named(last + 1), trace.tensor(to), queries),
      ]);
    },
    explain({ step }, { mats: [a, c] }, query, col) {
      const { first, last } = of(step);
      const [was, is] = [cellIn(a.matrix, query, col), cellIn(c.matrix, query, col)];
      /** @type {Arithmetic["lines"]} */
      const lines = [
        ["computation.line.before", { layer: first }, was],
        ["computation.line.change", { first, last, n: last - first + 1 }, is - was],
      ];
      return { terms: null, lines, total: is, own: null, tap: null, note: "computation.skipped" };
    },
    /** The walk through a neighbouring block. */
    leads: (step) => of(step).leads,
  };
}

export const before = skipped("before", ({ layer }) => ({ first: 0, last: layer - 1, leads: layer - 1 }));
export const rest = skipped("rest", ({ stack, layer }) => ({
  first: layer + 1,
  last: stack.layers.length - 1,
  leads: layer + 1,
}));

/** @param {number} depth @returns {() => Node} */
const streamName = (depth) => () => stream(depth);
/** @param {Step} step */
const sumName = (step) => () => row(stream(depthOf(step)), mo("+"), written(step.sublayer.kind));
/** @param {Step} step */
const addedName =
  ({ sublayer: { kind, norm } }) =>
  () =>
    norm?.place === "res-post" ? normed(written(kind), norm) : written(kind);

const besideName = () => written("attention");

/** @type {Kind} */
export const residual = {
  note: ({ sublayer, stack, layer }) => {
    if (sublayer.beside) return t("computation.parallel");
    const { scale } = stack.layers[layer];
    return scale && sublayer.kind === "ffn" ? t("computation.rescaled", { scale }) : null;
  },
  formula(step) {
    const depth = depthOf(step);
    const beside = step.sublayer.beside ? [mo("+"), besideName()] : [];
    const sum_ = [stream(depth), ...beside, mo("+"), addedName(step)()];
    return step.sublayer.norm?.place === "post" ? math(...sum_) : math(stream(depth + 1), mo("="), ...sum_);
  },
  picture({ trace, step, queries }) {
    const [taps, depth] = [sumOf(step.sublayer), depthOf(step)];
    const compound = step.sublayer.norm?.place === "post";
    return stacked([
      mat("a", "", streamName(depth), trace.tensor(taps.before), queries),
      ...(taps.beside ? [mat("beside", "+", besideName, trace.tensor(taps.beside), queries)] : []),
      mat("b", "+", addedName(step), trace.tensor(taps.added), queries),
      mat("c", "=", compound ? sumName(step) : streamName(depth + 1), trace.tensor(taps.sum), queries, { compound }),
    ]);
  },
  explain({ step }, { mats }, query, col) {
    const parts = mats.slice(0, -1).map(({ matrix }) => cellIn(matrix, query, col));
    const c = mats[mats.length - 1];
    /** @type {Object<string, string>} */
    const names = { a: "stream", beside: "beside", b: "added" };
    /** @type {Arithmetic["lines"]} */
    const lines = parts.map((value, i) => [`computation.line.${names[mats[i].id]}`, {}, value]);
    return {
      terms: null,
      lines,
      total: sum(parts),
      own: cellIn(c.matrix, query, col),
      tap: sumOf(step.sublayer).sum,
    };
  },
};

// LayerNorm: every row separately.

/** √(… + ε) @param {Node} inside */
const root = (inside) => sqrt(row(inside, mo("+"), mi("ε")));

/** (x − μ) / √(σ² + ε) @param {Node} x */
const centred = (x) => frac(row(x, mo("−"), mi("μ")), root(sup(mi("σ"), mn(2))));

/**
 * A LayerNorm or an RMSNorm: `of` a step; `input` names its input.
 * @param {(step: Step) => Norm} of @param {(step: Step) => () => Node} input @returns {Kind}
 */
function normKind(of, input) {
  return {
    formula(step) {
      const [x, one] = [input(step), of(step)];
      const hat = isRms(one) ? frac(x(), root(row(mi("mean"), mtext("("), sup(x(), mn(2)), mtext(")")))) : centred(x());
      const shift = one.parameters.bias ? [mo("+"), mi("β")] : [];
      return math(normed(x(), one), mo("="), mi("γ"), mo("⊙"), hat, ...shift);
    },
    picture({ trace, step, queries }) {
      const { roles, parameters } = of(step);
      /** @type {Partial<Mat>} */
      const one = { learned: true, whose: null, rows: null, lit: (row, col) => ({ row: 0, col }) };
      const bias = parameters.bias
        ? [mat("bias", "+", () => mi("β"), asRow(trace.weight(parameters.bias)), queries, one)]
        : [];
      return stacked([
        mat("x", "", input(step), trace.tensor(roles.input.tap), queries, { lit: (row) => ({ row }) }),
        mat("gain", "⊙", () => mi("γ"), asRow(trace.weight(parameters.gain)), queries, one),
        ...bias,
        mat("c", "=", () => normed(input(step)(), of(step)), trace.tensor(roles.out.tap), queries),
      ]);
    },
    explain({ step, trace }, { mats: [x, gain, ...rest] }, query, col) {
      const { eps, roles } = of(step);
      const rms = isRms(of(step));
      const c = rest[rest.length - 1];
      const values = rowIn(x.matrix, query);
      const shift = rest.length === 2 ? rest[0].matrix.data : null;
      const frozen = isMade({ interventions: trace.interventions ?? [] }, "freeze_norms")
        ? deviationOf(values, rowIn(c.matrix, query), gain.matrix.data, shift, rms)
        : null;
      const { mean, variance, hat } = normalised(values, col, eps, rms, frozen);
      const [g, b] = [gain.matrix.data[col], rest.length === 2 ? rest[0].matrix.data[col] : 0];
      /** @type {Arithmetic["lines"]} */
      const lines = [
        ["computation.line.x", {}, values[col]],
        .../** @type {any} */ (rms ? [] : [["computation.line.mean", { n: values.length }, mean]]),
        [rms ? "computation.line.squares" : "computation.line.variance", { n: values.length }, variance],
        [rms ? "computation.line.rms" : "computation.line.hat", { eps }, hat],
        ["computation.line.gain", {}, g],
        .../** @type {any} */ (rest.length === 2 ? [["computation.line.shift", {}, b]] : []),
      ];
      return {
        terms: null,
        lines,
        total: hat * g + b,
        own: cellIn(c.matrix, query, col),
        tap: roles.out.tap,
      };
    },
  };
}

/** The input of a block's LayerNorm. @param {Step} step */
function normInput(step) {
  const { norm, kind } = step.sublayer;
  if (norm.place === "post") return sumName(step);
  return norm.place === "pre" ? streamName(depthOf(step)) : () => written(kind);
}

export const norm = normKind(NORMS.norm, normInput);
export const final = normKind(NORMS.final, () => () => mi("X"));

/** Of the sum of embedding and position. */
export const start = normKind(NORMS.start, () => () => row(mi("E"), mo("+"), mi("P")));
