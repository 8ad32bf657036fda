/** Softmax: every row becomes weights that sum to 1. */

import { cellIn, rowIn, sum } from "../../model/matrix.js";
import { math, mi, mo, mtext, row } from "../../ui/mathml.js";
import { ofHead } from "./letters.js";
import { stacked } from "./product.js";
import { tapIn } from "./taps.js";

/** @import { Arithmetic } from "./product.js" */

const masked = (head) => row(ofHead("S", head), mo("+"), mi("M"));

export const softmaxStep = {
  formula: (step, { head }) =>
    math(ofHead("A", head), mo("="), mi("softmax"), row(mtext("("), masked(head), mtext(")"))),
  picture({ trace: { detail }, head, queries, keys }) {
    const one = { whose: "query", rows: queries, cols: keys, forbidden: detail.mask.data };
    const mats = [
      {
        ...one,
        id: "a",
        op: "",
        name: () => masked(head),
        matrix: detail.scores,
        masked: true,
        lit: (row) => ({ row }),
      },
      {
        ...one,
        id: "c",
        op: "softmax →",
        name: () => ofHead("A", head),
        matrix: detail.pattern,
        ramp: "weights",
        lit: (row, col) => ({ row, col }),
      },
    ];
    return stacked(mats, { cols: "key" });
  },
  /** @returns {Arithmetic} */
  explain({ trace: { detail }, step, keys }, picture, query, key) {
    const reasons = rowIn(detail.mask, query);
    const scores = Array.from(rowIn(detail.scores, query), (score, j) => (reasons[j] ? -Infinity : score));
    return {
      ...shareOf(scores, key, (j) => `${keys[j]} ${j}`),
      own: cellIn(detail.pattern, query, key),
      tap: tapIn(step, "pattern"),
    };
  },
};

/**
 * exp of one number divided by the sum of exp of all. The largest is subtracted from each first, which changes nothing
 * and keeps the powers finite.
 * @param {ArrayLike<number>} values @param {number} index @param {(i: number) => string} label
 */
export function shareOf(values, index, label) {
  let most = -Infinity; // a loop, because a vocabulary is too long for the arguments of Math.max
  for (let i = 0; i < values.length; i++) most = Math.max(most, values[i]);
  const exps = Array.from(values, (value) => (value === -Infinity ? 0 : Math.exp(value - most)));
  const total = sum(exps);
  /** @type {Arithmetic["lines"]} */
  const lines = [
    ["computation.line.value", {}, values[index]],
    ["computation.line.most", {}, most],
    ["computation.line.exp", {}, exps[index]],
    ["computation.line.exps", { n: exps.filter((one) => one > 0).length }, total],
  ];
  const terms = { a: exps, b: null, values: exps, label };
  return { terms, lines, total: total === 0 ? 0 : exps[index] / total };
}
