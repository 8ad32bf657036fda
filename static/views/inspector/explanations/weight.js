/** The arithmetic of one weight: q·k, ÷ √d_head, + M, exp, ÷ the row's sum; then the effect of the weight. */

import { drawTermBars } from "../../../chart/bars/bars.js";
import { dividesProducts, normPlace, stackOf } from "../../../model/description.js";
import { zeroAfter } from "../../../model/mask_edits.js";
import { cellIn, columnIn, indexOfMost, products, rowIn, shareAlong, sum } from "../../../model/matrix.js";
import { position } from "../../../model/selection.js";
import { biasRole, scoringOf, underRoot, valuesFor, vectorOf } from "../../../model/weight_arithmetic.js";
import { queryName } from "../../../model/written.js";
import { replace } from "../../../ui/dom.js";
import { checkOf, number, percent, signed, significant } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import { math, mi, mn, mo, row as side, sub, sup } from "../../../ui/mathml.js";
import { openAttentionStep } from "../../attention/steps.js";
import { openStep, walkSteps } from "../../computation/steps.js";
import { letterOf } from "../../formulas.js";
import { reasonOf } from "../../query_key.js";
import { drawFoot, nameIn } from "../card.js";
import { buildCardAndSteps, drawKeyFigures, drawSays, drawSentence, drawTitle, outputOf, value } from "../parts.js";
import { drawWeightCard } from "./weight_card.js";

/**
 * @import { Detail, HeadTrace, Matrix } from "../../../data/model_trace.js"
 * @import { Tensor } from "../../../data/wire.js"
 * @import { Attention } from "../../../model/description.js"
 * @import { Scoring } from "../../../model/weight_arithmetic.js"
 * @import { State } from "../../../state/store.js"
 * @import { StepName } from "../../attention/steps.js"
 * @import { HeadDraw } from "../../view.js"
 * @import { Explained, Step } from "../parts.js"
 */

// The arithmetic of one weight, recomputed from the float32 q, k, mask and v of its head (Vaswani et al. 2017,
// equation 1), with the part for the distance where there is one (Shaw et al. 2018, equations 3 and 4).

/**
 * The terms that lead from q and k to a weight, in float64.
 * @param {Detail} detail @param {Scoring} scoring @param {number} query @param {number} key
 */
export function weightTerms(
  { mask, pattern },
  { q, k, distance, bias = null, divisor = Math.sqrt(q.shape[1]), temperature = 1 },
  query,
  key,
) {
  const dHead = q.shape[1];
  const nKey = k.shape[0];
  const own = rowIn(q, query);
  const terms = products(own, rowIn(k, key));
  const apart = (/** @type {number} */ j) => (distance ? products(own, vectorOf(distance, "keys", query, j)) : []);
  const biasOf = (/** @type {number} */ j) => (bias ? cellIn(bias, query, j) : 0);
  const scoreOf = (/** @type {number} */ j) =>
    ((sum(products(own, rowIn(k, j))) + sum(apart(j))) / divisor + biasOf(j)) / temperature;
  const allowed = Array.from({ length: nKey }, (_, j) => mask.data[query * nKey + j] === 0);
  const scores = allowed.map((yes, j) => (yes ? scoreOf(j) : -Infinity));
  // e to a large power overflows even float64. Moving a whole row leaves its softmax the same, and the text says so.
  const highest = Math.max(...scores);
  const shift = highest > 500 ? highest : 0;
  const exps = scores.map((score) => Math.exp(score - shift));
  const rowSum = sum(exps);
  return {
    products: terms,
    dHead,
    root: divisor,
    temperature,
    bias: biasOf(key),
    dot: sum(terms),
    distances: apart(key),
    apart: sum(apart(key)),
    scaled: scoreOf(key),
    reasons: mask.data[query * nKey + key],
    shift,
    exp: exps[key],
    rowSum,
    weight: rowSum === 0 ? 0 : exps[key] / rowSum,
    nAllowed: allowed.filter(Boolean).length,
    model: pattern.data[query * nKey + key],
  };
}

/**
 * What the weight does: a·v, and its share of z = Σ a·v.
 * @param {Matrix} pattern @param {Matrix} v  what each key
 *   passes on to this query @param {number} query @param {number} key
 */
function handedOver(pattern, v, query, key) {
  const weights = rowIn(pattern, query);
  const part = Array.from(rowIn(v, key), (one) => weights[key] * one);
  const z = part.map((_, d) => sum(products(weights, columnIn(v, d))));
  return { part, share: shareAlong(part, z) };
}

/**
 * ‖x W_O‖ of one head's part x: how far it moves the residual stream, before any LayerNorm.
 * @param {number[]} part  [d_head] @param {Tensor} wO  the head's columns: [d_model d_head], as torch keeps it: [out in]
 */
export function moved(part, { shape: [dModel, width], data }) {
  let squares = 0;
  for (let out = 0; out < dModel; out++) {
    let one = 0;
    for (let d = 0; d < part.length; d++) one += part[d] * Number(data[out * width + d]);
    squares += one * one;
  }
  return Math.sqrt(squares);
}

const elementsOf = buildCardAndSteps([
  "dot",
  "distance",
  "bias",
  "scaled",
  "mask",
  "exp",
  "weight",
  "zeroed",
  "part",
  "moves",
]);
/** What is added goes through a LayerNorm before it reaches the stream, except in a pre-norm model. @param {HeadTrace} trace @param {string} key */
const movesKey = ({ model, attention }, key) =>
  ["pre", null].includes(normPlace(stackOf(model, attention))) ? key : `${key}_normed`;
/** @typedef {ReturnType<typeof weightTerms>} Terms */

/** @type {HeadDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const { query, key } = position(state, trace);
  const scoring = scoringOf(trace);
  const terms = weightTerms(trace.detail, scoring, query, key);
  const tokens = { query: value(queryName(trace, query), "q"), key: value(nameIn(trace.keys.tokens, key), "k") };
  const step = shownStep(trace, state);
  drawTitle(parts, TITLES[step] ?? TITLES.weights, phrase("inspector.looks", tokens));
  drawSays(parts, saysOf(trace, step, terms, query, key));
  drawScore(parts.steps, trace, scoring, terms, query, key);
  drawDistance(parts.steps.distance, scoring, terms, query, key);
  drawBias(parts.steps.bias, trace.attention, terms);
  drawSoftmax(parts.steps, trace, terms);
  drawZeroed(parts.steps.zeroed, trace, query, key);
  const { part, lengthOf } = drawEffect(parts, trace, state, valuesFor(scoring, query), terms, query, key);
  const lit = (state.view === "computation" && WALK_LIT[walkKind(trace, state)]) || (LIT[step] ?? ["exp", "weight"]);
  const termsBefore = termsAsTrained(trace, scoring, query, key);
  const about = { scoring, terms, termsBefore, query, key, part, lengthOf, lit };
  const change = drawWeightCard(parts.card, trace, state, about);
  for (const [name, { item }] of Object.entries(parts.steps))
    item.classList.toggle("lit", LIT[step]?.includes(name) ?? false);
  drawFoot(parts.card, trace, state, actions, change);
}

/** The same terms without the edits; null: not here, or scores are made of more than q and k. @param {HeadTrace} trace @param {Scoring} scoring @param {number} query @param {number} key */
function termsAsTrained(trace, scoring, query, key) {
  const { detail, detailBefore: was } = trace;
  const alike = was?.q && was.k && was.pattern && was.mask.data.length === detail.mask.data.length;
  if (!alike || scoring.distance || scoring.bias || scoring.q !== detail.q || scoring.k !== detail.k) return null;
  return weightTerms(was, scoringOf({ ...trace, detail: was, interventions: [] }), query, key);
}

/** The step that the open picture shows: of attention, or of the walk. @param {HeadTrace} trace @param {State} state @returns {StepName} */
function shownStep({ attention, model }, state) {
  if (state.view !== "computation") return openAttentionStep(attention, state) ?? "weights";
  return IN_WALK[walkKind({ model }, state)] ?? "weights";
}

/** @param {Pick<HeadTrace, "model">} trace @param {State} state */
const walkKind = ({ model }, state) => openStep(walkSteps(model, state), model, state).kind;

/** The lines of the card that a step of the walk computes, where the steps of attention say nothing of it. @type {Object<string, string[]>} */
const WALK_LIT = {
  ...{ q: ["q"], k: ["k"], v: ["part"], heads: ["q", "k"], av: ["part"] },
  ...{ concat: ["part"], wo: ["moves", "logit"], residual: ["moves", "logit"] },
};

/** @type {Object<string, StepName>} */
const IN_WALK = { scores: "qk", scale: "scaled", mask: "masked" };

/** @type {Partial<Record<StepName, string>> & {weights: string}} */
const TITLES = {
  weights: "inspector.title",
  masked: "inspector.title",
  qk: "inspector.title_score",
  content: "inspector.title_score",
  distance: "inspector.title_score",
  added: "inspector.title_score",
  scaled: "inspector.title_score",
};
/** In one sentence: how much of the query's attention the key gets, and which key gets the most. @param {HeadTrace} trace @param {StepName} step @param {Terms} terms @param {number} query @param {number} key */
function saysOf(trace, step, { reasons, scaled, model }, query, key) {
  const keys = trace.keys.tokens;
  const parts = {
    query: value(queryName(trace, query), "q"),
    key: value(nameIn(keys, key), "k"),
    p: value(percent(model)),
  };
  if (reasons) return phrase("inspector.says_forbidden", { ...parts, reason: reasonOf(reasons) });
  if (OF_SCORES.includes(step)) return phrase("inspector.says_score", { ...parts, score: value(two(scaled)) });
  const row = rowIn(trace.detail.pattern, query);
  const most = indexOfMost(row);
  if (row[most] === model) return phrase("inspector.says_most", parts);
  return phrase("inspector.says_weight", {
    ...parts,
    most: value(nameIn(keys, most), "k"),
    q: value(percent(row[most])),
  });
}

/** As in the card over them. @param {number} value */
const two = (value) => number(value, 2);
/** The steps that the open station is about. */
/** @type {Partial<Record<StepName, string[]>>} */
const LIT = {
  qk: ["dot"],
  content: ["dot"],
  distance: ["distance"],
  added: ["bias"],
  scaled: ["scaled"],
  masked: ["mask"],
};
/** The steps that ask about a score. */
const OF_SCORES = ["qk", "content", "distance", "added", "uncapped", "scaled"];

/** The part of the score for the distance, where there is one. @param {Step} step @param {Scoring} scoring @param {Terms} terms @param {number} query @param {number} key */
function drawDistance(step, { q, distance }, { distances, apart, dHead }, query, key) {
  step.item.hidden = distance === null;
  if (!distance) return;
  const [own, vector] = [rowIn(q, query), vectorOf(distance, "keys", query, key)];
  const name = math(sup(mi("a"), mi("K")));
  drawSentence(step, "inspector.distance", { q: value("q", "q"), a: name, n: dHead, value: value(two(apart)) });
  drawTermBars(step.more, {
    terms: distances,
    label: t("inspector.distance_label", { n: dHead, value: two(apart) }),
    words: (d) =>
      t("inspector.distance_term", {
        d,
        q: signed(own[d], 3),
        a: signed(vector[d], 3),
        value: signed(distances[d], 3),
      }),
  });
}

/** The part of the score that depends only on positions, where there is one. @param {Step} step @param {Attention} attention @param {Terms} terms */
function drawBias(step, attention, { bias }) {
  const role = biasRole(attention);
  step.item.hidden = role === null;
  if (role !== null) drawSentence(step, "inspector.bias", { role: math(letterOf(role)), value: value(two(bias)) });
}

/** How the products become the score: a key of the catalogue. @param {Attention} attention @param {Scoring["distance"]} distance @param {Pick<Terms, "root"|"temperature">} by */
function scaledKey(attention, distance, { root, temperature }) {
  if (temperature !== 1) return "inspector.heated";
  if (root === 1 && dividesProducts(attention)) return "inspector.unscaled";
  if (distance) return "inspector.scaled_sum";
  const added = biasRole(attention) === null ? "" : "_bias";
  return `inspector.${dividesProducts(attention) ? "scaled" : "unscaled"}${added}`;
}

/** @param {Explained["steps"]} steps @param {HeadTrace} trace @param {Scoring} scoring @param {Terms} terms @param {number} query @param {number} key */
function drawScore(
  steps,
  trace,
  { q: all, k: keys, distance },
  { products, dHead, root, temperature, dot, scaled },
  query,
  key,
) {
  const [q, k] = [rowIn(all, query), rowIn(keys, key)];
  drawSentence(steps.dot, all === trace.detail.q ? "inspector.dot" : "inspector.dot_turned", {
    q: value("q", "q"),
    k: value("k", "k"),
    n: dHead,
    value: value(two(dot)),
  });
  drawTermBars(steps.dot.more, {
    terms: products,
    label: t("inspector.dot_label", { n: dHead, value: two(dot) }),
    words: (d) => t("inspector.dot_term", { d, q: signed(q[d], 3), k: signed(k[d], 3), value: signed(products[d], 3) }),
  });
  const own = trace.detail.scores.data[query * keys.shape[0] + key];
  drawSentence(
    steps.scaled,
    scaledKey(trace.attention, distance, { root, temperature }),
    {
      d: root === 1 ? dHead : underRoot(root),
      root: number(root, 3),
      temperature: number(temperature, 2),
      value: value(two(scaled)),
    },
    checkOf(scaled, own, two),
  );
}

/** @param {Explained["steps"]} steps @param {HeadTrace} trace @param {Terms} terms */
function drawSoftmax(steps, trace, { scaled, reasons, exp, rowSum, weight, model, nAllowed, shift }) {
  const allowed = { value: value(two(scaled)) };
  drawSentence(
    steps.mask,
    reasons ? "inspector.forbidden" : "inspector.allowed",
    reasons ? { reason: reasonOf(reasons) } : allowed,
  );
  const vars = {
    value: value(significant(exp, 4)),
    sum: value(significant(rowSum, 4)),
    n: nAllowed,
    shift: number(shift, 2),
  };
  const spread = rowSum === 0 && model > 0; // as transformers does, where our models give zeros
  const n = trace.detail.pattern.shape[1];
  const own = spread ? 1 / n : weight;
  const key = spread
    ? "inspector.no_key_spread"
    : rowSum === 0
      ? "inspector.no_key"
      : shift
        ? "inspector.exp_shifted"
        : "inspector.exp";
  drawSentence(steps.exp, key, spread ? { n } : vars);
  drawSentence(steps.weight, "inspector.weight", { value: value(significant(own)) }, checkOf(own, model));
}

/** Of a row with cells hidden by hand: 0 after the softmax is not −∞ before it, until the row is divided by what is left. @param {Step} step @param {HeadTrace} trace @param {number} query @param {number} key */
function drawZeroed(step, { detail }, query, key) {
  const found = zeroAfter(rowIn(detail.scores, query), rowIn(detail.mask, query));
  step.item.hidden = !found;
  if (!found) return;
  const { sum: left, renormalised } = found;
  if (left === 0) return drawSentence(step, "inspector.zeroed_none", {});
  const own = renormalised[key];
  const words = { sum: value(number(left, 3)), value: value(significant(own)) };
  drawSentence(step, "inspector.zeroed", words, checkOf(own, rowIn(detail.pattern, query)[key]));
}

/** a·v, its share of z, and how far it moves the stream. @param {Explained} parts @param {HeadTrace} trace @param {State} state @param {Matrix} values @param {Terms} terms @param {number} query @param {number} key */
function drawEffect(parts, trace, state, values, { model }, query, key) {
  const { part, share } = handedOver(trace.detail.pattern, values, query, key);
  const v = rowIn(values, key);
  drawSentence(parts.steps.part, values === trace.detail.v ? "inspector.part" : "inspector.part_distance", {
    a: value(significant(model)),
    v: value("v", "v"),
  });
  drawTermBars(parts.steps.part.more, {
    terms: part,
    label: t("inspector.part_label", { n: part.length }),
    words: (d) => t("inspector.part_term", { d, a: significant(model), v: signed(v[d], 3), value: signed(part[d], 3) }),
  });
  const output = outputOf(state, trace.model);
  const wO = output === null ? null : trace.weight(output);
  const lengthOf = (/** @type {number[]} */ of) => (wO ? significant(moved(of, wO)) : null);
  const length = lengthOf(part);
  parts.steps.moves.item.hidden = !wO;
  if (length) drawSentence(parts.steps.moves, movesKey(trace, "inspector.moves"), { value: value(length) });
  const weightName = math(sub(mi("a"), side(mn(query), mo(","), mn(key))));
  /** @type {[any, string][]} */
  const figures = [
    [[t("inspector.figure_weight"), " ", weightName], significant(model)],
    [t("inspector.figure_share"), percent(share)],
  ];
  const symbols = " ‖a·v·W_O‖";
  const moves = t(movesKey(trace, "inspector.figure_moves")) + symbols;
  drawKeyFigures(parts, length ? [...figures, [moves, length]] : figures);
  replace(parts.note, t("inspector.share_note"));
  return { part, lengthOf };
}
