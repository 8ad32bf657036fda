/** The output: the last state times the unembedding (for a classifier: its classes), and its softmax. */

import { answeringStack, answersTokens, fillsMask, tiesEmbeddings } from "../../model/description.js";
import { tokenName } from "../../model/labels.js";
import { columnsIn, rowIn, sum } from "../../model/matrix.js";
import { transposedFormula as flipped, math, mi, mn, mo, mtext, row, sub } from "../../ui/mathml.js";
import { className } from "../../ui/token_text.js";
import { shareOf } from "./attention.js";
import { asRow, cachedMatrix, transposedOf } from "./matrices.js";
import { normed, parameter, productPicture, productSum, stacked, timesSign } from "./product.js";
import { answerOf } from "./taps.js";

/**
 * @import { FetchedTrace } from "../../data/model_trace.js"
 * @import { ModelDetail } from "../../model/description.js"
 * @import { Matrix } from "../../model/matrix.js"
 * @import { Kind } from "./kinds.js"
 * @import { Context } from "./matrices.js"
 * @import { Mat } from "./product.js"
 */

/** @param {ModelDetail} model */
function last(model) {
  const { final_norm: norm } = answeringStack(model);
  return norm ? normed(mi("X"), norm) : mi("X");
}
/** @param {ModelDetail} model */
const unembedding = (model) => flipped(tiesEmbeddings(model) ? mi("E") : parameter("W", "u"));

/**
 * The answers that are shown: the most likely tokens, or all classes.
 * @param {Context} context @returns {{ids: number[], names: string[], p: number[]}}
 */
function answersOf({ trace, query }) {
  if (trace.classes)
    return {
      ids: trace.classes.map((_, i) => i),
      names: trace.classes.map(({ name }) => className(name)),
      p: trace.classes.map(({ probability }) => probability),
    };
  const { candidates } = trace.predictions[query];
  return {
    ids: candidates.map(({ id }) => id),
    names: candidates.map(tokenName),
    p: candidates.map(({ before }) => before),
  };
}

/**
 * Logits of the answers in every row; a classifier has one row.
 * @param {Context} context @returns {{rows: string[], matrix: Matrix, whose: Mat["whose"], at: number}}
 */
function shown(context) {
  const { trace, model, query } = context;
  const logits = trace.tensor(answerOf(model).tap);
  if (trace.classes) return { rows: [context.queries[classRow(trace)]], matrix: asRow(logits), whose: null, at: 0 };
  const { ids } = answersOf(context);
  return {
    rows: context.queries,
    matrix: cachedMatrix(logits, ids.join(), () => columnsIn(logits, ids)),
    whose: "query",
    at: query,
  };
}

/** @param {FetchedTrace} trace */
const classRow = (trace) => trace.real.start;

/** @type {Kind} */
export const logits = {
  formula(step, { model }) {
    const bias = answerOf(model).bias ? [mo("+"), parameter("b", "u")] : [];
    return math(mi("logits"), mo("="), timesSign(last(model), unembedding(model)), ...bias);
  },
  picture(context) {
    const { trace, model } = context;
    const { state, table, bias } = answerOf(model);
    const { rows, matrix, whose } = shown(context);
    const { ids, names } = answersOf(context);
    const states = trace.tensor(state);
    const name = /** @type {string} */ (table); // without one there is no such step
    const weight = transposedOf(trace.classes ? trace.weight(name) : trace.rows(name));
    const whole = trace.classes ? null : model.vocab_size;
    const picture = productPicture({
      a: {
        name: () => last(model),
        matrix: trace.classes ? asRow({ data: rowIn(states, classRow(trace)) }) : states,
        whose,
        rows,
      },
      b: { name: () => unembedding(model), matrix: weight, learned: true, cols: names, whole },
      bias: bias ? { name: () => parameter("b", "u"), matrix: asRow(trace.weight(bias)) } : null,
      c: { name: () => mi("logits"), matrix, whose, rows, cols: names, whole },
      cols: "answer",
    });
    return { ...picture, ids };
  },
  explain: (context, picture, row_, col) =>
    productSum(picture, row_, col, { label: String, tap: answerOf(context.model).tap }),
};

/**
 * The row's logits over the whole vocabulary; tokens that are not candidates have −∞.
 * @param {Context} context @returns {number[]}
 */
function wholeRow({ trace, model, query }) {
  const tensor = trace.tensor(answerOf(model).tap);
  if (trace.classes) return Array.from(tensor.data);
  return Array.from(rowIn(tensor, query), (logit, id) => (model.never_sampled.includes(id) ? -Infinity : logit));
}

/** @type {Kind} */
export const answer = {
  formula: (step, { model, query }) => {
    const p = answersTokens(model) ? sub(mi("p"), mn(fillsMask(model) ? query : query + 1)) : mi("p");
    return math(p, mo("="), mi("softmax"), row(mtext("("), mi("logits"), mtext(")")));
  },
  picture(context) {
    const { rows, matrix, at: index } = shown(context);
    const { ids, names, p } = answersOf(context);
    /** @type {Pick<Mat, "whose"|"rows"|"cols"|"whole">} */
    const one = {
      rows: [rows[index]],
      cols: names,
      whose: null,
      whole: context.trace.classes ? null : context.model.vocab_size,
    };
    /** @type {Mat[]} */
    const mats = [
      {
        ...one,
        id: "a",
        op: "",
        name: () => mi("logits"),
        matrix: { shape: [1, names.length], data: rowIn(matrix, index) },
        lit: () => ({ row: 0 }),
      },
      {
        ...one,
        id: "c",
        op: "softmax →",
        name: () => mi("p"),
        matrix: { shape: [1, names.length], data: Float32Array.from(p) },
        ramp: "weights",
        lit: (row_, col) => ({ row: 0, col }),
      },
    ];
    return stacked(mats, { rows: "row", cols: "answer", ids });
  },
  explain(context, picture, row_, col) {
    const { ids, names, p } = answersOf(context);
    const shares = shareOf(wholeRow(context), ids[col], String);
    const exps = ids.map((id) => shares.terms.values[id]);
    const beyond = { n: shares.terms.values.length - ids.length, sum: sum(shares.terms.values) - sum(exps) };
    const terms = { ...shares.terms, a: exps, values: exps, label: (/** @type {number} */ i) => names[i], beyond };
    return { ...shares, terms, own: p[col], tap: answerOf(context.model).tap };
  },
};
