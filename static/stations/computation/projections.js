/** Q, K, V, W_O, W₁ and W₂: a matrix of tokens times a matrix that was learned, plus a bias. */

import { inputOf } from "../../model/anatomy.js";
import { math, mi, mo, mtext, row } from "../../ui/mathml.js";
import { crosses, readBy } from "./context.js";
import { memory, normed, parameter, projected, stream, times, written } from "./letters.js";
import { asRow, joined, transposed } from "./matrices.js";
import { productPicture, productSum } from "./product.js";

const feature = (i) => String(i);

/** The name of what a sublayer reads. @returns {() => Node} */
const inputName = (model, sublayer, step) => () => {
  const x = stream(sublayer.before, crosses(model, step));
  return model.norm_order === "pre" ? normed(x) : x;
};

/**
 * A kind of step that is one Linear: what differs is said by `of(step, model)`: the taps `input` and `output`, the Linear's
 * `linear`, its letter's `index`, names, and whose rows they are.
 */
function linearKind(of, why) {
  return {
    why,
    needs(step, model) {
      const { input, output, linear } = of(step, model);
      return [`tensor:${input}`, `tensor:${output}`, `weight:${linear}.weight`, `weight:${linear}.bias`];
    },
    formula(step, { model }) {
      const { index, inputOf: x, outputOf: y } = of(step, model);
      return math(y(), mo("="), times(x(), parameter("W", index)), mo("+"), parameter("b", index));
    },
    picture({ trace, model, step, head, queries, keys }) {
      const {
        input,
        output,
        linear,
        index,
        whose = "query",
        split,
        inputOf: x,
        outputOf: y,
        role = "",
      } = of(step, model);
      const rows = whose === "query" ? queries : keys;
      const d = model.d_model / model.n_head;
      const band = /** @type {[number, number]} */ ([head * d, (head + 1) * d]);
      const matrix = (name) =>
        trace.tensor(name).shape.length === 3 ? joined(trace.tensor(name)) : trace.tensor(name);
      return productPicture({
        a: { name: x, matrix: matrix(input), whose, rows, band: split === "in" ? band : undefined },
        b: {
          name: () => parameter("W", index),
          matrix: transposed(trace.weight(`${linear}.weight`)),
          role,
          learned: true,
          band: split === "out" ? band : undefined,
        },
        bias: { name: () => parameter("b", index), matrix: asRow(trace.weight(`${linear}.bias`)), role },
        c: { name: y, matrix: matrix(output), role, whose, rows, band: split === "out" ? band : undefined },
      });
    },
    explain({ model, step }, picture, at, col) {
      return productSum(picture, at, col, { label: feature, tap: of(step, model).output });
    },
  };
}

/** @param {"q"|"k"|"v"} name */
const projection = (name) =>
  linearKind(({ sublayer, ...step }, model) => {
    const fromMemory = sublayer.kind === "cross_attn" && name !== "q";
    return {
      input: readBy(model, name, sublayer),
      output: `${sublayer.path}.${name}`,
      linear: `${sublayer.path}.w_${name}`,
      index: name,
      role: name,
      split: "out",
      whose: name === "q" ? "query" : "key",
      inputOf: fromMemory ? memory : inputName(model, sublayer, step),
      outputOf: () => projected(name),
    };
  }, "weight");

export const q = projection("q");
export const k = projection("k");
export const v = projection("v");

/** Concat(heads) · W_O + b_O */
export const wo = linearKind(
  ({ sublayer }) => ({
    input: `${sublayer.path}.z`,
    output: sublayer.out,
    linear: `${sublayer.path}.w_o`,
    index: "o",
    split: "in",
    inputOf: () => mi("Z"),
    outputOf: () => written("attn"),
  }),
  "z",
);

export const w1 = linearKind(
  ({ sublayer, ...step }, model) => ({
    input: inputOf(model, sublayer),
    output: `${sublayer.path}.pre`,
    linear: `${sublayer.path}.w_1`,
    index: 1,
    inputOf: inputName(model, sublayer, step),
    outputOf: () => mi("pre"),
  }),
  "unit",
);

export const w2 = linearKind(
  ({ sublayer }) => ({
    input: `${sublayer.path}.post`,
    output: sublayer.out,
    linear: `${sublayer.path}.w_2`,
    index: 2,
    inputOf: () => mi("post"),
    outputOf: () => written("ffn"),
  }),
  "unit",
);

/** pre = X W₁ + b₁, post = max(0, pre). */
export const relu = {
  why: "unit",
  needs: ({ sublayer }) => [`tensor:${sublayer.path}.pre`, `tensor:${sublayer.path}.post`],
  formula: () =>
    math(
      mi("post"),
      mo("="),
      mi("ReLU"),
      row(mtext("("), mi("pre"), mtext(")")),
      mo("="),
      mi("max"),
      row(mtext("("), mi("0"), mo(","), mi("pre"), mtext(")")),
    ),
  picture({ trace, step: { sublayer }, queries }) {
    const one = (id, op, name, tap) => ({
      id,
      op,
      name,
      matrix: trace.tensor(`${sublayer.path}.${tap}`),
      whose: "query",
      rows: queries,
      lit: (row, col) => ({ row, col }),
    });
    const mats = [one("a", "", () => mi("pre"), "pre"), one("c", "=", () => mi("post"), "post")];
    return { layout: "stack", mats, result: mats[1], rows: "query", cols: "feature" };
  },
  explain({ step: { sublayer } }, { mats: [a, c] }, at, col) {
    const pre = a.matrix.data[at * a.matrix.shape[1] + col];
    const lines = [
      ["computation.line.pre", {}, pre],
      [pre > 0 ? "computation.line.fires" : "computation.line.silent", {}, null],
    ];
    return {
      terms: null,
      lines,
      total: Math.max(0, pre),
      own: c.matrix.data[at * c.matrix.shape[1] + col],
      tap: `${sublayer.path}.post`,
    };
  },
};
