/** A role without a step of its own: one head of it, and its equation, if its mechanism gives one. */

import { hidesBlocks, identityOf } from "../../model/description.js";
import { elementOf, headOf } from "../../model/identities.js";
import { cellIn, columnIn, columnsIn, products, sum } from "../../model/matrix.js";
import { featureParts, featureTerms, positionPart, sliceOf } from "../../model/weight_arithmetic.js";
import { t } from "../../ui/i18n.js";
import { mi, mn, sub } from "../../ui/mathml.js";
import { equationOf, letterOf, roleName, weightsFormula } from "../formulas.js";
import { shareOf } from "./attention.js";
import { cachedMatrix } from "./matrices.js";
import { stacked } from "./product.js";
import { roleOf } from "./steps.js";
import { tapIn, tapNames } from "./taps.js";

/**
 * @import { Detail, FetchedTrace, HeadTrace } from "../../data/model_trace.js"
 * @import { Attention, Identity } from "../../model/description.js"
 * @import { Parts } from "../../model/weight_arithmetic.js"
 * @import { Kind } from "./kinds.js"
 * @import { HeadContext } from "./matrices.js"
 * @import { Arithmetic, Mat } from "./product.js"
 * @import { AttentionStep } from "./steps.js"
 */

/** @type {Mat["lit"]} */
const both = (row, col) => ({ row, col });
/** @param {AttentionStep} step @param {string} role */
const crossed = ({ attention }, role) => attention.roles[role].dims.endsWith("query key");
/** @param {AttentionStep} step @param {string} role */
const isKeys = ({ attention }, role) => ["k", "v"].includes(role) || /\bkey d_/.test(attention.roles[role].dims);

/**
 * What the mask leaves out of a role is hatched; the mask itself is shown.
 * @param {{detail: Detail|null}} trace @param {string} name
 */
function forbiddenOf({ detail }, name) {
  const mask = WEIGHTED.has(name) ? detail?.mask : undefined;
  return mask?.data.some(Boolean) ? { forbidden: mask.data } : {};
}
const WEIGHTED = new Set(["mean_weights", "weights"]);

/** @param {string} name @param {number} value @returns {Arithmetic["lines"][number]} */
const lineOf = (name, value) => ["computation.line.role", { name }, value];

/**
 * The factors of one product, by name; of a norm, what was divided, and the gain.
 * @param {Identity} identity @param {Pick<Attention, "norm_eps">} attention @param {number[]} of
 * @returns {Arithmetic["lines"]}
 */
function factorsOf(identity, { norm_eps: eps }, of) {
  if (identity.op !== "rms_norm") return of.map((one, i) => lineOf(roleName(identity.of[i]), one));
  return [
    ["computation.line.rms", { eps }, of[0]],
    ["computation.line.gain", {}, of[1]],
  ];
}

/**
 * What a term is called: a summand by its role, what is summed over the keys by its token, anything else by its index.
 * @param {Identity} identity @param {string[]} keys @returns {(i: number) => string}
 */
function labelOf({ op, of }, keys) {
  if (op === "sum" || op === "quotient") return (i) => roleName(of[i]);
  return OVER_KEYS.has(op) ? (i) => keys[i] : String;
}
const OVER_KEYS = new Set(["weighted_sum", "weighted_rows", "feature_sum", "masked_softmax", "feature_softmax"]);

/**
 * One head of a role; a number for each token is a column.
 * @param {FetchedTrace} trace @param {AttentionStep} step @param {string} name @param {number} head
 */
function headIn(trace, step, name, head) {
  const { n_head, roles } = step.attention;
  const { shape, data } = headOf(trace.tensor(tapIn(step, name)), head, n_head, roles[name].dims);
  return { shape: shape.length === 1 ? [shape[0], 1] : shape, data };
}

/** @type {Kind<HeadContext>} */
export const role = {
  note: (step) =>
    hidesBlocks(step.stack) && tapIn(step, roleOf(step)) === step.sublayer.writes.tap ? t("computation.hidden") : null,
  formula: (step) => equationOf(identityOf(step.attention, roleOf(step)), roleOf(step), step.attention),
  picture({ trace, step, head, queries, keys }) {
    const name = roleOf(step);
    const matrix = headIn(trace, step, name, head);
    const shared = crossed(step, name);
    const whose = isKeys(step, name) ? "key" : "query";
    /** @type {Mat} */
    const mat = {
      id: "c",
      op: "",
      name: () => letterOf(name),
      matrix,
      whose,
      rows: whose === "key" ? keys : queries,
      lit: both,
      ...(shared ? { cols: keys, ...forbiddenOf(trace, name) } : {}),
      ...(step.attention.overview === name ? { ramp: "weights" } : {}),
    };
    return stacked([mat], { rows: whose, cols: shared ? "key" : "feature" });
  },
  explain({ trace, step, head, keys }, { result }, row, col) {
    const names = tapNames(step);
    const identity = identityOf(step.attention, roleOf(step));
    const tensorOf = (/** @type {string} */ one) => {
      const [kind, name] = names[one] ?? [];
      return kind && trace[kind](/** @type {string} */ (name));
    };
    const own = cellIn(result.matrix, row, col);
    const element = identity && elementOf(identity, tensorOf, step.attention, { head, row, col });
    if (!element) return { terms: null, lines: [], total: own, own: null, tap: null, note: "computation.as_is" };
    const { a, b, values, total } = element;
    const isOne = values.length === 1; // its factors as lines: there is nothing to compare
    const factors = factorsOf(identity, step.attention, b ? [a[0], b[0]] : [a[0]]);
    return {
      terms: isOne ? null : { a, b, values, label: labelOf(identity, keys) },
      lines: isOne ? factors : [],
      total,
      own,
      tap: tapIn(step, roleOf(step)),
    };
  },
};

// The two sums of AFT and of RWKV, element by element: their roles' general step, with the arithmetic.

/**
 * e^(w + k) of each allowed key, divided by the largest of the row, times v where there is one.
 * @type {NonNullable<Kind<HeadContext>["explain"]>}
 */
function explain({ trace, step, keys }, { result }, query, col) {
  const { exps } = featureTerms(featureParts(trace), query, query, col);
  const v = roleOf(step) === "numerator" ? columnIn(trace.detail.v, col) : null;
  const values = v ? products(exps, v) : exps;
  return {
    terms: { a: exps, b: v, values, label: (i) => keys[i] },
    lines: [],
    total: sum(values),
    own: cellIn(result.matrix, query, col),
    tap: tapIn(step, roleOf(step)),
  };
}

/** @type {Object<string, Kind<HeadContext>>} */
export const SUMS = {
  "role-numerator": { ...role, explain },
  "role-denominator": { ...role, explain },
};

// The weights of one feature: e^(w + k) over the allowed keys, normalised (Zhai et al. 2021, equation 2).

/**
 * What position adds, for every query and key.
 * @param {HeadTrace} trace @param {Parts} parts @param {number} feature
 */
function positionMatrix(trace, parts, feature) {
  const [nQuery, nKey] = trace.detail.mask.shape;
  return cachedMatrix(trace.detail.mask, `position ${trace.detail.layer} ${feature}`, () => ({
    shape: [nQuery, nKey],
    data: Float32Array.from({ length: nQuery * nKey }, (_, at) =>
      positionPart(parts, Math.floor(at / nKey), at % nKey, feature),
    ),
  }));
}

/** @type {Kind<HeadContext>} */
export const feature = {
  formula: ({ attention }) => weightsFormula(attention),
  note: () => t("feature.choose_walk"),
  picture({ trace, step, head, feature: f, queries, keys }) {
    const parts = featureParts(trace);
    const own = headOf(trace.tensor(tapIn(step, "weights")), head, step.attention.n_head);
    /** @type {Pick<Mat, "whose"|"rows"|"cols"|"forbidden">} */
    const square = { whose: "query", rows: queries, cols: keys, forbidden: trace.detail.mask.data };
    const placed = parts.bias || parts.decay;
    /** @type {Mat[]} */
    const mats = [
      {
        id: "k",
        op: "",
        name: () => sub(mi("k", "k"), mn(f)),
        matrix: columnsIn(parts.k, [f]),
        role: "k",
        whose: "key",
        rows: keys,
        lit: (_, key) => ({ row: key, col: 0 }),
      },
      ...(placed
        ? [{ ...square, id: "w", op: "+", name: () => mi("w"), matrix: positionMatrix(trace, parts, f), lit: both }]
        : []),
      {
        ...square,
        id: "c",
        op: "softmax →",
        name: () => sub(mi("a"), mn(f)),
        matrix: cachedMatrix(own, `feature ${f}`, () => sliceOf(own, f)),
        ramp: "weights",
        lit: both,
      },
    ];
    return stacked(mats, { cols: "key" });
  },
  explain({ trace, step, feature: f, keys }, { result }, query, key) {
    const { k, position, logits } = featureTerms(featureParts(trace), query, key, f);
    const share = shareOf(logits, key, (j) => `${keys[j]} ${j}`);
    /** @type {Arithmetic["lines"]} */
    const made = [
      ["computation.line.key", { feature: f }, k],
      ["computation.line.adds", {}, position],
    ];
    return {
      ...share,
      lines: [...made, ...share.lines],
      own: cellIn(result.matrix, query, key),
      tap: tapIn(step, "weights"),
    };
  },
};
