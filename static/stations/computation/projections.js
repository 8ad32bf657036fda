/** Q, K, V, W_O, W₁ and W₂: a matrix of tokens times a learned matrix, plus a bias. */

import { headIn, mixesChannels } from "../../model/description.js";
import { math, mi, mo } from "../../ui/mathml.js";
import { letterOf } from "../role_formulas.js";
import { depthOf } from "./context.js";
import { memory, normed, parameter, projected, shiftedName, stream, times, written } from "./letters.js";
import { asRow, joined, transposed } from "./matrices.js";
import { productPicture, productSum } from "./product.js";
import { isForeign, LINEAR, madeBy } from "./taps.js";

/** @import { Arithmetic } from "./product.js" */

const feature = (i) => String(i);

/** The name of a sublayer's input. @returns {() => Node} */
const inputName = (step) => () => {
  const x = stream(depthOf(step));
  return step.sublayer.norm?.place === "pre" ? normed(x, step.sublayer.norm) : x;
};

/**
 * A kind of step that is one Linear: beside its taps and parameters, `look(step)` says their letter's `index`, names, and whose
 * rows they are.
 */
function linearKind(kind, look) {
  const of = (step, model) => ({ ...LINEAR[kind](step, model), ...look(step) });
  return {
    formula(step, { model }) {
      const { index, bias, inputOf: x, outputOf: y } = of(step, model);
      const shift = bias ? [mo("+"), parameter("b", index)] : [];
      return math(y(), mo("="), times(x(), parameter("W", index)), ...shift);
    },
    picture({ trace, model, step, head, queries, keys }) {
      const {
        input,
        output,
        weight,
        bias,
        index,
        whose = "query",
        split,
        inputOf: x,
        outputOf: y,
        role = "",
      } = of(step, model);
      const rows = whose === "query" ? queries : keys;
      const one = step.attention?.roles[kind]?.dims === "head position"; // number for each token in a head
      const d = one ? 1 : (step.attention?.d_head ?? 0);
      const own = step.attention ? headIn(step.attention, kind, head) : head;
      const band = /** @type {[number, number]} */ ([own * d, (own + 1) * d]);
      const matrix = (name) => {
        const tensor = trace.tensor(name);
        if (one && name === output) return transposed(tensor); // head position
        return tensor.shape.length === 3 ? joined(tensor) : tensor;
      };
      return productPicture({
        a: { name: x, matrix: matrix(input), whose, rows, band: split === "in" ? band : undefined },
        b: {
          name: () => parameter("W", index),
          matrix: transposed(trace.weight(weight)),
          role,
          learned: true,
          band: split === "out" ? band : undefined,
        },
        bias: bias ? { name: () => parameter("b", index), matrix: asRow(trace.weight(bias)), role } : null,
        c: { name: y, matrix: matrix(output), role, whose, rows, band: split === "out" ? band : undefined },
      });
    },
    /** @returns {Arithmetic} */
    explain({ model, step }, picture, at, col) {
      return productSum(picture, at, col, { label: feature, tap: of(step, model).output });
    },
  };
}

/** @param {"q"|"k"|"v"} name */
const projection = (name) =>
  linearKind(name, (step) => ({
    index: name,
    role: name,
    split: "out",
    whose: name === "q" ? "query" : "key",
    inputOf: isForeign(name, step) ? memory : inputName(step),
    outputOf: () => (madeBy(step, name) === name ? projected(name) : letterOf(madeBy(step, name))),
  }));

export const q = projection("q");
export const k = projection("k");
export const v = projection("v");

/** Concat(heads) · W_O + b_O */
export const wo = linearKind("wo", () => ({
  index: "o",
  split: "in",
  inputOf: () => mi("Z"),
  outputOf: () => written("attention"),
}));

export const w1 = linearKind("w1", (step) => ({
  index: 1,
  inputOf: mixesChannels(step.sublayer) ? shiftedName("k") : inputName(step),
  outputOf: () => mi("pre"),
}));
export const up = linearKind("up", (step) => ({ index: "up", inputOf: inputName(step), outputOf: () => mi("up") }));
export const w2 = linearKind("w2", (step) => ({
  index: 2,
  inputOf: () => mi("post"),
  outputOf: () => (mixesChannels(step.sublayer) ? mi("Y") : written("ffn")),
}));
/** What RWKV's FFN multiplies its result by, before σ. */
export const wr = linearKind("wr", () => ({ index: "r", inputOf: shiftedName("r"), outputOf: () => mi("R") }));
