/** What only RWKV's FFN does: each token's input is mixed with the one before, and σ(R) multiplies the result. */

import { activationOf } from "../../model/activations.js";
import { ACTIVATION_STEPS } from "../../model/description.js";
import { cellIn } from "../../model/matrix.js";
import { math, mi, mn, mo, mtext, row, sub } from "../../ui/mathml.js";
import { activationFormula } from "../formulas.js";
import { asRow, depthOf } from "./matrices.js";
import { normed, shiftedName, stacked, stream, written } from "./product.js";
import { mat } from "./stream.js";
import { SHIFTED } from "./taps.js";

/**
 * @import { Ffn } from "../../model/description.js"
 * @import { Kind } from "./kinds.js"
 * @import { Arithmetic, Mat } from "./product.js"
 * @import { Step } from "./steps.js"
 */

// post = activation(pre), and times the gate where the FFN has one: every unit separately.

/** @param {Ffn} sublayer @returns {string|null} the tap that act(pre) is multiplied by */
const gateOf = ({ gate, roles }) => (gate === null ? null : roles[gate].tap);

/** @type {Kind} */
const activation = {
  formula: ({ sublayer }) => activationFormula(sublayer),
  picture({ trace, step: { sublayer }, queries }) {
    /** @param {string} id @param {string} op @param {string} name @param {string} tap @returns {Mat} */
    const one = (id, op, name, tap) => ({
      id,
      op,
      name: () => mi(name),
      matrix: trace.tensor(tap),
      whose: "query",
      rows: queries,
      lit: (row, col) => ({ row, col }),
    });
    const gate = gateOf(sublayer);
    const gates = gate === null ? [] : [one("gate", "⊙", sublayer.gate, gate)];
    return stacked([
      one("a", "", "pre", sublayer.roles.pre.tap),
      ...gates,
      one("c", "=", "post", sublayer.roles.post.tap),
    ]);
  },
  explain({ step: { sublayer } }, { mats }, at, col) {
    const [pre, own] = [cellIn(mats[0].matrix, at, col), cellIn(mats[mats.length - 1].matrix, at, col)];
    const { of, silences, squares } = activationOf(sublayer.activation);
    /** @type {Arithmetic["lines"]} */
    const lines = [["computation.line.pre", {}, pre]];
    if (of === null) return { terms: null, lines, total: own, own: null, tap: null, note: "computation.no_formula" };
    const fires = squares ? "computation.line.squared" : "computation.line.fires";
    if (silences) lines.push([pre > 0 ? fires : "computation.line.silent", {}, null]);
    else lines.push(["computation.line.activated", { activation: activationOf(sublayer.activation).name }, of(pre)]);
    const gate = mats.length === 3 ? cellIn(mats[1].matrix, at, col) : 1;
    if (mats.length === 3) lines.push(["computation.line.gate", {}, gate]);
    return { terms: null, lines, total: of(pre) * gate, own, tap: sublayer.roles.post.tap };
  },
};

/** One for each activation: the step is called by its name. @type {Object<string, Kind>} */
export const ACTIVATIONS = Object.fromEntries(ACTIVATION_STEPS.map((name) => [name, activation]));

const share = () => mi("μ");

/** @param {keyof typeof SHIFTED} kind @param {string} index  of the mix @returns {Kind} */
function shiftKind(kind, index) {
  /** @param {Step} step */
  const inputName = (step) => () => normed(stream(depthOf(step)), step.sublayer.norm);
  const rest = () => row(mtext("("), mn(1), mo("−"), share(), mtext(")"));
  /** @param {Step} step @param {...Node} of */
  const at = (step, ...of) => sub(inputName(step)(), row(...of));
  return {
    formula(step) {
      const own = [share(), mo("⊙"), at(step, mi("t"))];
      return math(shiftedName(index)(), mo("="), ...own, mo("+"), rest(), mo("⊙"), at(step, mi("t"), mo("−"), mn(1)));
    },
    picture({ trace, step, queries }) {
      const { input, output, share: name } = SHIFTED[kind](step);
      /** @type {Partial<Mat>} */
      const one = { learned: true, whose: null, rows: null, lit: (row, col) => ({ row: 0, col }) };
      return stacked([
        mat("x", "", inputName(step), trace.tensor(input), queries),
        mat("share", "⊙", share, asRow(trace.weight(name)), queries, one),
        mat("c", "=", shiftedName(index), trace.tensor(output), queries),
      ]);
    },
    explain({ step }, { mats: [x, mu, c] }, query, col) {
      const before = query > 0 ? cellIn(x.matrix, query - 1, col) : 0; // there is none before the first
      const [own, part] = [cellIn(x.matrix, query, col), mu.matrix.data[col]];
      return {
        terms: null,
        lines: [
          ["computation.line.own_x", {}, own],
          ["computation.line.mu", {}, part],
          [query > 0 ? "computation.line.before_x" : "computation.line.nothing_before", {}, before],
          ["computation.line.rest_mu", {}, 1 - part],
        ],
        total: part * own + (1 - part) * before,
        own: cellIn(c.matrix, query, col),
        tap: SHIFTED[kind](step).output,
      };
    },
  };
}

export const shift = shiftKind("shift", "k");
export const shift_r = shiftKind("shift_r", "r");

/** FFN = σ(R) ⊙ Y @type {Kind} */
export const receive = {
  formula: () => math(written("ffn"), mo("="), mi("σ"), row(mtext("("), mi("R"), mtext(")")), mo("⊙"), mi("Y")),
  picture({ trace, step: { sublayer }, queries }) {
    return stacked([
      mat("r", "σ", () => mi("R"), trace.tensor(sublayer.roles.receptance.tap), queries),
      mat("y", "⊙", () => mi("Y"), trace.tensor(sublayer.roles.value.tap), queries),
      mat("c", "=", () => written("ffn"), trace.tensor(sublayer.writes.tap), queries),
    ]);
  },
  explain({ step: { sublayer } }, { mats }, query, col) {
    const [r, y, own] = mats.map(({ matrix }) => cellIn(matrix, query, col));
    const open = 1 / (1 + Math.exp(-r));
    return {
      terms: null,
      lines: [
        ["computation.line.receptance", {}, r],
        ["computation.line.open", {}, open],
        ["computation.line.given", {}, y],
      ],
      total: open * y,
      own,
      tap: sublayer.writes.tap,
    };
  },
};
