/** Q, K, V, W_O, W₁ and W₂: a matrix of tokens times a learned matrix, plus a bias. */

import { mixesChannels, roleHead } from "../../model/description.js";
import { cellIn } from "../../model/matrix.js";
import { t } from "../../ui/i18n.js";
import { math, mi, mn, mo, mtext } from "../../ui/mathml.js";
import { letterOf } from "../formulas.js";
import { asRow, columnsOfHead, depthOf, joined, transposedOf } from "./matrices.js";
import {
  memory,
  normed,
  ofHead,
  parameter,
  productPicture,
  productSum,
  projected,
  shiftedName,
  stacked,
  stream,
  timesSign,
  written,
} from "./product.js";
import { isForeign, LINEAR, madeBy, tapIn } from "./taps.js";

/**
 * @import { Attention, Model } from "../../model/description.js"
 * @import { Kind } from "./kinds.js"
 * @import { HeadContext } from "./matrices.js"
 * @import { Step } from "./steps.js"
 */

/**
 * @import { Mat } from "./product.js"
 *
 * @typedef {{index: string|number, role?: Mat["role"], split?: "in"|"out", whose?: "query"|"key", inputOf: () => Node, outputOf: () => Node}} Linear
 */

/** Splitting into heads: Q, K and V are split into columns, and the results of the heads are concatenated again. */
const QKV = /** @type {const} */ (["q", "k", "v"]);

/**
 * The index of the first column that the open head has of Q, K or V.
 * @param {{attention: Attention}} step @param {string} name @param {number} head
 */
const first = ({ attention }, name, head) => roleHead(attention, name, head) * attention.d_head;

/** Q, K, V of all heads, and below each the open head's columns. @type {Kind<HeadContext>} */
export const heads = {
  formula(step, { head }) {
    const columns = (/** @type {string} */ name) => [
      mtext("["),
      mo(":"),
      mo(","),
      mn(first(step, name, head)),
      mo("…"),
      mn(first(step, name, head) + step.attention.d_head - 1),
      mtext("]"),
    ];
    const one = (/** @type {typeof QKV[number]} */ name) => [
      projected(name, head),
      mo("="),
      projected(name),
      columns(name),
    ];
    return QKV.map((name) => math(one(name)));
  },
  picture({ trace, step, head, queries, keys }) {
    const mats = QKV.flatMap((name) => {
      const tensor = trace.tensor(tapIn(step, name));
      const from = first(step, name, head);
      /** @type {Pick<Mat, "whose"|"rows">} */
      const rows = name === "q" ? { whose: "query", rows: queries } : { whose: "key", rows: keys };
      /** @param {number} before @returns {Mat["lit"]} */
      const lit = (before) => (row, col) => ({ row: name === "q" ? row : undefined, col: before + col });
      /** @type {Mat} */
      const whole = {
        id: name,
        op: "",
        name: () => projected(name),
        matrix: joined(tensor),
        band: [from, from + step.attention.d_head],
        lit: lit(from),
      };
      /** @type {Mat} */
      const one = {
        id: `${name}_head`,
        op: "→",
        name: () => projected(name, head),
        matrix: columnsOfHead(tensor, roleHead(step.attention, name, head)),
        lit: lit(0),
      };
      return [
        { ...whole, ...rows, role: name },
        { ...one, ...rows, role: name },
      ];
    });
    return stacked(mats, { layout: "pairs", result: mats[1] });
  },
  explain({ head }, { mats: [whole, one] }, at_, col) {
    const d = one.matrix.shape[1];
    const value = cellIn(whole.matrix, at_, head * d + col);
    return {
      terms: null,
      lines: [["computation.line.column", { col, head, d, from: head * d + col }, value]],
      total: value,
      own: null,
      tap: null,
      note: "computation.moved",
    };
  },
};

/** Z: the heads side by side. @type {Kind<HeadContext>} */
export const concat = {
  formula: ({ attention }) =>
    math(
      mi("Z"),
      mo("="),
      mi("Concat"),
      mtext("("),
      ofHead("Z", 0),
      mo(", …,"),
      ofHead("Z", attention.n_head - 1),
      mtext(")"),
    ),
  picture({ trace, step, head, queries }) {
    const tensor = trace.tensor(tapIn(step, "z"));
    const [n, , d] = tensor.shape;
    /** @type {Pick<Mat, "whose"|"rows">} */
    const one = { whose: "query", rows: queries };
    /** @type {Mat["lit"]} */
    const inside = (at_, col) => (Math.floor(col / d) === head ? { row: at_, col: col % d } : {});
    /** @type {Mat[]} */
    const mats = [
      { ...one, id: "a", op: "", name: () => ofHead("Z", head), matrix: columnsOfHead(tensor, head), lit: inside },
      {
        ...one,
        id: "c",
        op: t("computation.op_heads", { n }),
        name: () => mi("Z"),
        matrix: joined(tensor),
        band: [head * d, (head + 1) * d],
        lit: (row, col) => ({ row, col }),
      },
    ];
    return stacked(mats);
  },
  explain({ step }, { result }, query, col) {
    const d = step.attention.d_head;
    const value = cellIn(result.matrix, query, col);
    return {
      terms: null,
      lines: [["computation.line.head", { col, head: Math.floor(col / d), d: col % d }, value]],
      total: value,
      own: null,
      tap: null,
      note: "computation.moved",
    };
  },
};

const feature = (/** @type {number} */ i) => String(i);

/** The name of a sublayer's input. @param {Step} step @returns {() => Node} */
const inputName = (step) => () => {
  const x = stream(depthOf(step));
  return step.sublayer.norm?.place === "pre" ? normed(x, step.sublayer.norm) : x;
};

/**
 * A kind of step that is one Linear: beside its taps and parameters, `look(step)` says their letter's `index`, names, and whose
 * rows they are.
 * @param {keyof typeof LINEAR} kind @param {(step: Step) => Linear} look @returns {Kind}
 */
function linearKind(kind, look) {
  /** @param {Step} step @param {Model} model */
  const of = (step, model) => ({ ...LINEAR[kind](step, model), ...look(step) });
  return {
    formula(step, { model }) {
      const { index, bias, inputOf: x, outputOf: y } = of(step, model);
      const shift = bias ? [mo("+"), parameter("b", index)] : [];
      return math(y(), mo("="), timesSign(x(), parameter("W", index)), ...shift);
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
      const own = step.attention ? roleHead(step.attention, kind, head) : head;
      const band = /** @type {[number, number]} */ ([own * d, (own + 1) * d]);
      const matrix = (/** @type {string} */ name) => {
        const tensor = trace.tensor(name);
        if (one && name === output) return transposedOf(tensor); // head position
        return tensor.shape.length === 3 ? joined(tensor) : tensor;
      };
      return productPicture({
        a: { name: x, matrix: matrix(input), whose, rows, band: split === "in" ? band : undefined },
        b: {
          name: () => parameter("W", index),
          matrix: transposedOf(trace.weight(weight)),
          role,
          learned: true,
          band: split === "out" ? band : undefined,
        },
        bias: bias ? { name: () => parameter("b", index), matrix: asRow(trace.weight(bias)), role } : null,
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
