/** One head's attention: QKᵀ, ÷√d, + M, and after the softmax (softmax.js) ·V. */

import { cellIn, products, rowIn, sum } from "../../model/matrix.js";
import { t } from "../../ui/i18n.js";
import { frac, math, mi, mn, mo, row, sqrt } from "../../ui/mathml.js";
import { reasonOf } from "../query_key.js";
import { flippedKeys, ofHead, projected, rootOfD, times } from "./letters.js";
import { dots, headOf, once, transposed } from "./matrices.js";
import { productPicture, productSum, stacked } from "./product.js";
import { tapIn } from "./taps.js";

/** @import { Arithmetic } from "./product.js" */

const both = (row, col) => ({ row, col });
const feature = (i) => String(i);
/** Q Kᵀ */
const dot = (head) => row(projected("q", head), flippedKeys(head));
const perHead = (letter, head) => () => ofHead(letter, head);

export const scores = {
  formula: (step, { head }) => math(times(projected("q", head), flippedKeys(head))),
  picture({ trace: { detail }, head, queries, keys }) {
    return productPicture({
      a: { name: () => projected("q", head), matrix: detail.q, role: "q", whose: "query", rows: queries },
      b: { name: () => flippedKeys(head), matrix: transposed(detail.k), role: "k", cols: keys },
      c: { name: () => dot(head), compound: true, matrix: dots(detail), whose: "query", rows: queries, cols: keys },
      cols: "key",
    });
  },
  explain: ({ step, trace }, picture, query, key) =>
    productSum(picture, query, key, {
      label: feature,
      tap: tapIn(step, "scores"),
      times: Math.sqrt(trace.detail.q.shape[1]),
    }),
};

export const scale = {
  formula: (step, { head }) =>
    math(
      ofHead("S", head),
      mo("="),
      frac(dot(head), rootOfD()),
      mo("="),
      frac(dot(head), sqrt(mn(step.attention.d_head))),
    ),
  picture({ trace: { detail }, head, queries, keys }) {
    const one = { whose: "query", rows: queries, cols: keys, lit: both };
    const mats = [
      { ...one, id: "a", op: "", name: () => dot(head), matrix: dots(detail) },
      { ...one, id: "c", op: "÷√d →", name: perHead("S", head), matrix: detail.scores },
    ];
    return stacked(mats, { cols: "key" });
  },
  /** @returns {Arithmetic} */
  explain({ trace: { detail }, step }, picture, query, key) {
    const qk = sum(products(rowIn(detail.q, query), rowIn(detail.k, key)));
    const root = Math.sqrt(detail.q.shape[1]);
    /** @type {Arithmetic["lines"]} */
    const lines = [
      ["computation.line.dot", {}, qk],
      ["computation.line.root", { d: detail.q.shape[1] }, root],
    ];
    return {
      terms: null,
      lines,
      total: qk / root,
      own: cellIn(detail.scores, query, key),
      tap: tapIn(step, "scores"),
    };
  },
};

/** M: 0, or −∞ in forbidden cells. */
const zeros = ({ mask }) =>
  once(mask, "zeros", () => ({ shape: mask.shape, data: new Float32Array(mask.data.length) }));

export const mask = {
  formula: (step, { head }) => math(ofHead("S", head), mo("+"), mi("M")),
  picture({ trace: { detail }, head, queries, keys }) {
    const one = { whose: "query", rows: queries, cols: keys, lit: both };
    const masked = { ...one, forbidden: detail.mask.data, masked: true };
    const mats = [
      { ...one, id: "a", op: "", name: perHead("S", head), matrix: detail.scores },
      {
        ...masked,
        id: "m",
        op: "+",
        name: () => mi("M"),
        matrix: zeros(detail),
        legend: t("computation.zero_or_forbidden"),
      },
      {
        ...masked,
        id: "c",
        op: "=",
        name: () => row(ofHead("S", head), mo("+"), mi("M")),
        compound: true,
        matrix: detail.scores,
      },
    ];
    return stacked(mats, { cols: "key" });
  },
  /** @returns {Arithmetic} */
  explain({ trace: { detail } }, picture, query, key) {
    const reasons = cellIn(detail.mask, query, key);
    const score = cellIn(detail.scores, query, key);
    /** @type {Arithmetic["lines"][number]} */
    const m = reasons
      ? ["computation.line.forbidden", { reason: reasonOf(reasons) }, -Infinity]
      : ["computation.line.allowed", {}, 0];
    return {
      terms: null,
      lines: [["computation.line.score", {}, score], m],
      total: reasons ? -Infinity : score,
      own: null,
      tap: null,
      note: "computation.later",
    };
  },
};

/** Z of a head = A V. */
export const av = {
  formula: (step, { head }) => math(ofHead("Z", head), mo("="), times(ofHead("A", head), projected("v", head))),
  picture({ trace, step, head, queries, keys }) {
    const { detail } = trace;
    return productPicture({
      a: {
        name: perHead("A", head),
        matrix: detail.pattern,
        ramp: "weights",
        forbidden: detail.mask.data,
        whose: "query",
        rows: queries,
        cols: keys,
      },
      b: { name: () => projected("v", head), matrix: detail.v, role: "v" },
      c: {
        name: perHead("Z", head),
        matrix: headOf(trace.tensor(tapIn(step, "z")), head),
        whose: "query",
        rows: queries,
      },
    });
  },
  explain: ({ step, keys }, picture, query, col) =>
    productSum(picture, query, col, { label: (j) => `${keys[j]} ${j}`, tap: tapIn(step, "z") }),
};
