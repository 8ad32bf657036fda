/** LayerNorm: every row separately. */

import { cellIn, normalised, rowIn } from "../../model/matrix.js";
import { frac, math, mi, mn, mo, row, sqrt, sup } from "../../ui/mathml.js";
import { depthOf } from "./context.js";
import { normed, written } from "./letters.js";
import { asRow } from "./matrices.js";
import { stacked } from "./product.js";
import { mat, streamName, sumName } from "./stream.js";
import { NORMS } from "./taps.js";

/** A LayerNorm: `of` a step; `input` names its input. */
function normKind(of, input) {
  return {
    formula(step) {
      const [x, mean, spread] = [input(step), mi("μ"), sqrt(row(sup(mi("σ"), mn(2)), mo("+"), mi("ε")))];
      return math(normed(x()), mo("="), mi("γ"), mo("⊙"), frac(row(x(), mo("−"), mean), spread), mo("+"), mi("β"));
    },
    picture({ trace, step, queries }) {
      const { roles, parameters } = of(step);
      const one = { learned: true, whose: null, rows: null, lit: (row, col) => ({ row: 0, col }) };
      return stacked([
        mat("x", "", input(step), trace.tensor(roles.input.tap), queries, { lit: (row) => ({ row }) }),
        mat("gain", "⊙", () => mi("γ"), asRow(trace.weight(parameters.gain)), queries, one),
        mat("bias", "+", () => mi("β"), asRow(trace.weight(parameters.bias)), queries, one),
        mat("c", "=", () => normed(input(step)()), trace.tensor(roles.out.tap), queries),
      ]);
    },
    /**
     * @param {any} context @param {import("./product.js").Picture} picture @param {number} query @param {number} col
     * @returns {import("./product.js").Arithmetic}
     */
    explain({ step }, { mats: [x, gain, bias, c] }, query, col) {
      const { eps, roles } = of(step);
      const values = rowIn(x.matrix, query);
      const { mean, variance, hat } = normalised(values, col, eps);
      const [g, b] = [gain.matrix.data[col], bias.matrix.data[col]];
      /** @type {import("./product.js").Arithmetic["lines"]} */
      const lines = [
        ["computation.line.x", {}, values[col]],
        ["computation.line.mean", { n: values.length }, mean],
        ["computation.line.variance", { n: values.length }, variance],
        ["computation.line.hat", { eps }, hat],
        ["computation.line.gain", {}, g],
        ["computation.line.shift", {}, b],
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
