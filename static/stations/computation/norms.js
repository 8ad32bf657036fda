/** LayerNorm: every row on its own. */

import { endsOf } from "../../model/anatomy.js";
import { cellIn, normalised, rowIn } from "../../model/matrix.js";
import { frac, math, mi, mn, mo, row, sqrt, sup } from "../../ui/mathml.js";
import { normed, written } from "./letters.js";
import { asRow } from "./matrices.js";
import { mat, stacked, streamName, sumName } from "./stream.js";

/** A LayerNorm: `path` of its module, `input` and `output` name what goes in and comes out. */
function normKind(path, input) {
  return {
    why: "norm",
    needs: (step, model) =>
      ["input", "out"]
        .map((tap) => `tensor:${path(step, model)}.${tap}`)
        .concat(["weight", "bias"].map((name) => `weight:${path(step, model)}.${name}`)),
    formula(step, { model }) {
      const [x, mean, spread] = [input(model, step), mi("μ"), sqrt(row(sup(mi("σ"), mn(2)), mo("+"), mi("ε")))];
      return math(normed(x()), mo("="), mi("γ"), mo("⊙"), frac(row(x(), mo("−"), mean), spread), mo("+"), mi("β"));
    },
    picture({ trace, model, step, queries }) {
      const name = path(step, model);
      const one = { learned: true, whose: null, rows: null, lit: (row, col) => ({ row: 0, col }) };
      return stacked([
        mat("x", "", input(model, step), trace.tensor(`${name}.input`), queries, { lit: (row) => ({ row }) }),
        mat("gain", "⊙", () => mi("γ"), asRow(trace.weight(`${name}.weight`)), queries, one),
        mat("bias", "+", () => mi("β"), asRow(trace.weight(`${name}.bias`)), queries, one),
        mat("c", "=", () => normed(input(model, step)()), trace.tensor(`${name}.out`), queries),
      ]);
    },
    explain({ model, step }, { mats: [x, gain, bias, c] }, query, col) {
      const values = rowIn(x.matrix, query);
      const { mean, variance, hat } = normalised(values, col, model.layer_norm_eps);
      const [g, b] = [gain.matrix.data[col], bias.matrix.data[col]];
      const lines = [
        ["computation.line.x", {}, values[col]],
        ["computation.line.mean", { n: values.length }, mean],
        ["computation.line.variance", { n: values.length }, variance],
        ["computation.line.hat", { eps: model.layer_norm_eps }, hat],
        ["computation.line.gain", {}, g],
        ["computation.line.shift", {}, b],
      ];
      return {
        terms: null,
        lines,
        total: hat * g + b,
        own: cellIn(c.matrix, query, col),
        tap: `${path(step, model)}.out`,
      };
    },
  };
}

/** What a block's LayerNorm reads. */
function normInput(model, step) {
  if (model.norm_order === "post") return sumName(model, step);
  return model.norm_order === "pre" ? streamName(step.sublayer.before, model, step) : () => written(step.sublayer.kind);
}

export const norm = normKind(({ sublayer }) => sublayer.norm, normInput);
export const final = normKind(
  (step, model) => /** @type {string} */ (endsOf(model, step.prefix).finalNorm),
  () => () => mi("X"),
);
