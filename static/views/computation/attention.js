/** One head's attention: QKᵀ, ÷√d, + M, the softmax, and ·V. */

import { scoresIn } from "../../model/formula_edits.js";
import { cellIn, products, rowIn, sum } from "../../model/matrix.js";
import { t } from "../../ui/i18n.js";
import { frac, math, mi, mn, mo, mtext, row, sqrt } from "../../ui/mathml.js";
import { reasonOf } from "../query_key.js";
import { cachedMatrix, columnsOfHead, dots, transposedOf } from "./matrices.js";
import { flippedKeys, ofHead, productPicture, productSum, projected, rootOfD, stacked, timesSign } from "./product.js";
import { tapIn } from "./taps.js";

/**
 * @import { Detail, HeadTrace } from "../../data/model_trace.js"
 * @import { Kind } from "./kinds.js"
 * @import { HeadContext } from "./matrices.js"
 * @import { Arithmetic, Mat } from "./product.js"
 */

const masked = (/** @type {number} */ head) => row(ofHead("S", head), mo("+"), mi("M"));

/** Softmax: every row becomes weights that sum to 1. @type {Kind<HeadContext>} */
export const softmaxStep = {
  formula: (step, { head }) =>
    math(ofHead("A", head), mo("="), mi("softmax"), row(mtext("("), masked(head), mtext(")"))),
  picture({ trace, head, queries, keys }) {
    const { detail } = trace;
    /** @type {Pick<Mat, "whose"|"rows"|"cols"|"forbidden">} */
    const one = { whose: "query", rows: queries, cols: keys, forbidden: detail.mask.data };
    /** @type {Mat[]} */
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
  explain({ trace: { detail }, step, keys }, picture, query, key) {
    const reasons = rowIn(detail.mask, query);
    const scores = Array.from(rowIn(detail.scores, query), (score, j) => (reasons[j] ? -Infinity : score));
    return {
      ...shareOf(scores, key, (j) => keys[j]),
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

/** @type {Mat["lit"]} */
const both = (row, col) => ({ row, col });
const feature = (/** @type {number} */ i) => String(i);
/** Q Kᵀ @param {number} head */
const dot = (head) => row(projected("q", head), flippedKeys(head));
/** @param {string} letter @param {number} head */
const perHead = (letter, head) => () => ofHead(letter, head);

/** @type {Kind<HeadContext>} */
export const scores = {
  formula: (step, { head }) => math(timesSign(projected("q", head), flippedKeys(head))),
  picture({ trace, head, queries, keys }) {
    const { detail } = trace;
    return productPicture({
      a: { name: () => projected("q", head), matrix: detail.q, role: "q", whose: "query", rows: queries },
      b: { name: () => flippedKeys(head), matrix: transposedOf(detail.k), role: "k", cols: keys },
      c: {
        name: () => dot(head),
        compound: true,
        matrix: dots(detail, divisorIn(trace)),
        whose: "query",
        rows: queries,
        cols: keys,
      },
      cols: "key",
    });
  },
  explain: ({ step, trace }, picture, query, key) =>
    productSum(picture, query, key, {
      label: feature,
      tap: tapIn(step, "scores"),
      times: divisorIn(trace),
    }),
};

/** What the products are divided by: √d, unless that is off, and the temperature. @param {HeadTrace} trace */
function divisorIn({ interventions = [], attention, attentions, detail }) {
  const { scaled, temperature } = scoresIn(interventions, attention, attentions, detail);
  return (scaled ? Math.sqrt(detail.q.shape[1]) : 1) * temperature;
}

/** @type {Kind<HeadContext>} */
export const scale = {
  formula: (step, { head }) =>
    math(
      ofHead("S", head),
      mo("="),
      frac(dot(head), rootOfD()),
      mo("="),
      frac(dot(head), sqrt(mn(step.attention.d_head))),
    ),
  picture({ trace, head, queries, keys }) {
    const { detail } = trace;
    /** @type {Pick<Mat, "whose"|"rows"|"cols"|"lit">} */
    const one = { whose: "query", rows: queries, cols: keys, lit: both };
    /** @type {Mat[]} */
    const mats = [
      { ...one, id: "a", op: "", name: () => dot(head), matrix: dots(detail, divisorIn(trace)) },
      { ...one, id: "c", op: "÷√d →", name: perHead("S", head), matrix: detail.scores },
    ];
    return stacked(mats, { cols: "key" });
  },
  explain({ trace, step }, picture, query, key) {
    const { detail } = trace;
    const qk = sum(products(rowIn(detail.q, query), rowIn(detail.k, key)));
    const root = divisorIn(trace);
    const [d, edited] = [detail.q.shape[1], Math.abs(root - Math.sqrt(detail.q.shape[1])) > 1e-9];
    /** @type {Arithmetic["lines"]} */
    const lines = [
      ["computation.line.dot", {}, qk],
      [edited ? "computation.line.divisor" : "computation.line.root", { d }, root],
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

/** M: 0, or −∞ in forbidden cells. @param {Detail} detail */
const zeros = ({ mask }) =>
  cachedMatrix(mask, "zeros", () => ({ shape: mask.shape, data: new Float32Array(mask.data.length) }));

/** @type {Kind<HeadContext>} */
export const mask = {
  formula: (step, { head }) => math(ofHead("S", head), mo("+"), mi("M")),
  picture({ trace: { detail }, head, queries, keys }) {
    /** @type {Pick<Mat, "whose"|"rows"|"cols"|"lit">} */
    const one = { whose: "query", rows: queries, cols: keys, lit: both };
    const masked = { ...one, forbidden: detail.mask.data, masked: true };
    /** @type {Mat[]} */
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

/** Z of a head = A V. @type {Kind<HeadContext>} */
export const av = {
  formula: (step, { head }) => math(ofHead("Z", head), mo("="), timesSign(ofHead("A", head), projected("v", head))),
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
        matrix: columnsOfHead(trace.tensor(tapIn(step, "z")), head),
        whose: "query",
        rows: queries,
      },
    });
  },
  explain: ({ step, keys }, picture, query, col) =>
    productSum(picture, query, col, { label: (j) => keys[j], tap: tapIn(step, "z") }),
};
