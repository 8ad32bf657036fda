/** LayerNorm: every row separately. */

import { isRms } from "../../model/description.js";
import { cellIn, normalised, rowIn } from "../../model/matrix.js";
import { frac, math, mi, mn, mo, mtext, row, sqrt, sup } from "../../ui/mathml.js";
import { depthOf } from "./context.js";
import { normed, written } from "./letters.js";
import { asRow } from "./matrices.js";
import { stacked } from "./product.js";
import { mat, streamName, sumName } from "./stream.js";
import { NORMS } from "./taps.js";

/** @import { Arithmetic, Picture } from "./product.js" */

/** √(… + ε) @param {Node} inside */
const root = (inside) => sqrt(row(inside, mo("+"), mi("ε")));

/** (x − μ) / √(σ² + ε) @param {Node} x */
const centred = (x) => frac(row(x, mo("−"), mi("μ")), root(sup(mi("σ"), mn(2))));

/** A LayerNorm or an RMSNorm: `of` a step; `input` names its input. */
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
    /**
     * @param {any} context @param {Picture} picture @param {number} query @param {number} col
     * @returns {Arithmetic}
     */
    explain({ step }, { mats: [x, gain, ...rest] }, query, col) {
      const { eps, roles } = of(step);
      const rms = isRms(of(step));
      const c = rest[rest.length - 1];
      const values = rowIn(x.matrix, query);
      const { mean, variance, hat } = normalised(values, col, eps, rms);
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

/** The input of a block's LayerNorm. */
function normInput(step) {
  const { norm, kind } = step.sublayer;
  if (norm.place === "post") return sumName(step);
  return norm.place === "pre" ? streamName(depthOf(step)) : () => written(kind);
}

export const norm = normKind(NORMS.norm, normInput);
export const final = normKind(NORMS.final, () => () => mi("X"));

/** Of the sum of embedding and position. */
export const start = normKind(NORMS.start, () => () => row(mi("E"), mo("+"), mi("P")));
