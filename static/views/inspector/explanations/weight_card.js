/** The arithmetic of one weight as a card: q and k, their products, the score, the softmax, and what the weight brings. */

import { dividesProducts, normPlace, stackOf } from "../../../model/description.js";
import { isOpenHeadOff } from "../../../model/edits.js";
import { tokenName } from "../../../model/labels.js";
import { zeroAfter } from "../../../model/mask_edits.js";
import { products, rowIn } from "../../../model/matrix.js";
import { biasRole, underRoot } from "../../../model/weight_arithmetic.js";
import { queryName } from "../../../model/written.js";
import { h } from "../../../ui/dom.js";
import { checkMark, number, signed, significant } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import { math, mi, mo, sub, sup } from "../../../ui/mathml.js";
import { letterOf } from "../../formulas.js";
import { reasonOf } from "../../query_key.js";
import { drawCard, labelOf, nameIn, whereOf } from "../card.js";

/**
 * @import { Detail, HeadTrace } from "../../../data/model_trace.js"
 * @import { Scoring } from "../../../model/weight_arithmetic.js"
 * @import { State } from "../../../state/store.js"
 * @import { Line } from "../card.js"
 * @import { Terms } from "./weight.js"
 */

/**
 * @typedef {{scoring: Scoring, terms: Terms, query: number, key: number, part: number[], length: string|null,
 *   lit: string[]}} About  part: a·v; length: how far a·v·W_O moves the stream, null if W_O is not known; lit: the lines
 *   that the open step is about
 */

/** @param {HTMLElement} root @param {HeadTrace} trace @param {State} state @param {About} about */
export function drawWeightCard(root, trace, state, about) {
  const { query, key, terms, lit } = about;
  const was = weightBefore(trace, about);
  const names = { query: queryName(trace, query), key: nameIn(trace.keys.tokens, key) };
  const lines = [
    ...scoreLines(trace, about, names),
    ...softmaxLines(trace, about),
    ...zeroLines(trace, about),
    ...effectLines(trace, state, about, names),
  ];
  drawCard(
    root,
    {
      ...names,
      where: whereOf(trace.model, state),
      value: significant(terms.model),
      was: was === null ? null : significant(was),
    },
    lines.map((line) => ({ ...line, lit: lit.includes(line.name) })),
  );
}

/** @typedef {{query: string, key: string}} Names */

/** q, k, q·k. @param {HeadTrace} trace @param {About} about @param {Names} names @returns {Line[]} */
function scoreLines(trace, about, names) {
  const { scoring, terms, query, key } = about;
  const [q, k] = [rowIn(scoring.q, query), rowIn(scoring.k, key)];
  const most = Math.max(...[...q, ...k].map(Math.abs));
  return [
    { name: "q", label: labelOf("q", names.query, "q"), bars: { values: q, look: "q", most } },
    { name: "k", label: labelOf("k", names.key, "k"), bars: { values: k, look: "k", most } },
    {
      name: "dot",
      label: "q · k",
      bars: { values: products(q, k), look: "signed" },
      output: `Σ ${number(terms.dot, 2)}`,
    },
    ...addedLines(trace, about),
  ];
}

/**
 * Why the key gets this weight: whether its score is the highest of its row, and the one after it or above it. "" where there is
 * nothing to compare with.
 * @param {HeadTrace} trace @param {About} about
 */
function fitWords(trace, { query, key }) {
  const { scores, mask } = trace.detail;
  const row = rowIn(scores, query);
  const others = [...row.keys()].filter((i) => i !== key && !rowIn(mask, query)[i]).sort((i, j) => row[j] - row[i]);
  if (!others.length) return "";
  const [rival] = others;
  const name = (/** @type {number} */ at) => h("b", { class: "k", translate: "no" }, nameIn(trace.keys.tokens, at));
  const own = h("b", { class: "q", translate: "no" }, queryName(trace, query));
  const words = { query: own, key: name(key), other: name(rival), score: number(row[rival], 2) };
  return h("span", null, phrase(row[rival] > row[key] ? "card.fits_less" : "card.fits_best", words));
}

/** From q·k to the score: what the distance adds, ÷ √d, what positions add. @param {HeadTrace} trace @param {About} about @returns {Line[]} */
function addedLines(trace, about) {
  const { attention, detail } = trace;
  const {
    scoring: { distance, k },
    terms,
    query,
    key,
  } = about;
  const fits = fitWords(trace, about);
  const heated = terms.temperature !== 1;
  const divides = dividesProducts(attention) && (terms.root !== 1 || heated);
  const added = biasRole(attention);
  const score = [number(terms.scaled, 2), checkMark(terms.scaled, detail.scores.data[query * k.shape[0] + key])];
  const { distances: values, apart } = terms;
  const far = [math(mo("+"), mi("q", "q"), mo("·"), sup(mi("a"), mi("K")))];
  /** @type {(Line|false)[]} */
  const lines = [
    distance !== null && {
      name: "distance",
      label: far,
      bars: { values, look: "signed" },
      output: `Σ ${number(apart, 2)}`,
    },
    divides && {
      name: "scaled",
      label: [terms.root !== 1 && `÷ √${underRoot(terms.root)}`, heated && `÷ ${number(terms.temperature, 2)}`]
        .filter(Boolean)
        .join(" "),
      words: added === null && fits ? fits : t("card.scaled"),
      output: added === null ? score : number(terms.dot / terms.root, 2),
    },
    added !== null && {
      name: "bias",
      label: math(mo("+"), letterOf(added)),
      words: fits || t("card.bias"),
      output: score,
    },
    !divides &&
      added === null && { name: "scaled", label: math(mi("S")), words: fits || t("card.unscaled"), output: score },
  ];
  return lines.filter((line) => line !== false);
}

/** + M, eˢ ÷ Σ, the weight. @param {HeadTrace} trace @param {About} about @returns {Line[]} */
function softmaxLines(trace, about) {
  const { detail } = trace;
  const before = patternBefore(trace);
  const { terms, query, key } = about;
  const { reasons, exp, rowSum, weight, model } = terms;
  const row = rowIn(detail.pattern, query);
  const spread = rowSum === 0 && model > 0; // as transformers does, where our models give zeros
  const own = spread ? 1 / row.length : weight;
  return [
    {
      name: "mask",
      label: "+ M",
      words: reasons ? h("b", { class: "q" }, reasonOf(reasons)) : t("card.allowed"),
      output: reasons ? "−∞" : "+ 0",
    },
    {
      name: "exp",
      label: math(sup(mi("e"), mi("s")), mo("÷"), mi("Σ")),
      bars: { values: row, look: "signed", chosen: key, was: before ? rowIn(before, query) : undefined },
      output: reasons || rowSum === 0 ? "0" : `${significant(exp, 4)} ÷ ${significant(rowSum, 4)}`,
    },
    {
      name: "weight",
      label: t("card.weight"),
      share: model,
      was: weightBefore(trace, about),
      output: [significant(own), checkMark(own, model)],
    },
  ];
}

/** Of a row with hidden cells: 0 after the softmax is not −∞ before it, until the row is divided by what is left. @param {HeadTrace} trace @param {About} about @returns {Line[]} */
function zeroLines({ detail }, { query, key }) {
  const found = zeroAfter(rowIn(detail.scores, query), rowIn(detail.mask, query));
  if (!found) return [];
  const { weights, sum, renormalised } = found;
  const after = { name: "zeroed", label: t("card.zero_after"), output: `Σ ${number(sum, 3)}` };
  const bars = { values: weights, look: /** @type {const} */ ("signed"), chosen: key };
  if (sum === 0) return [{ ...after, words: t("card.none_left") }];
  const own = renormalised[key];
  const again = [significant(own), checkMark(own, rowIn(detail.pattern, query)[key])];
  const words = t("card.renormalised");
  return [
    { ...after, bars },
    { name: "renormalised", label: `÷ ${number(sum, 3)}`, words, output: again },
  ];
}

/** The weight without the edits, if it is here and differs. @param {HeadTrace} trace @param {About} about @returns {number|null} */
function weightBefore(trace, { terms, query, key }) {
  const was = patternBefore(trace);
  const weight = was && rowIn(was, query)[key];
  return weight === null || significant(weight) === significant(terms.model) ? null : weight;
}

/** The head's weights without the edits, of the same cells: null if they are not here, or PADs have come. @param {HeadTrace} trace */
const patternBefore = ({ detail, detailBefore: before }) =>
  before?.pattern && before.pattern.data.length === detail.pattern.data.length ? before.pattern : null;

/** × v, and what W_O makes of it: of a head that is off, nothing. @param {HeadTrace} trace @param {State} state @param {About} about @param {Names} names @returns {Line[]} */
function effectLines(trace, state, { scoring, part, length, terms, key }, names) {
  const { model, attention } = trace;
  const longest = Math.max(...part.map(Math.abs));
  const most = longest * Math.max(1, 0.12 / (terms.model || 1)); // a small weight leaves small bars
  const normed = !["pre", null].includes(normPlace(stackOf(model, attention)));
  const moves = t(normed ? "card.moves_normed" : "card.moves", { query: names.query, value: length ?? "" });
  const written = writtenIn(trace, key);
  const v = { name: "part", label: scoring.distance ? "× (v + a)" : labelOf("× v", names.key, "v") };
  const output = {
    name: "moves",
    label: math(sub(mi("W"), mi("O"))),
    words: [written?.favours, h("span", null, moves)],
  };
  const bars = { ...v, bars: { values: part, look: /** @type {const} */ ("v"), most } };
  if (terms.model === 0) {
    const nothing = { ...v, words: t("card.times_zero"), output: "0" };
    return length === null ? [nothing] : [nothing, { ...output, words: t("card.nothing"), output: "0" }];
  }
  if (isOpenHeadOff(state, trace)) return [bars, { ...output, words: t("card.head_off"), output: "0" }];
  return [bars, ...(length === null ? [] : [{ ...output, output: written?.adds ?? "" }])];
}

/** The tokens that the key favours, and what it adds to the logit of the answer; null: not known, or not yet. @param {HeadTrace} trace @param {number} key */
function writtenIn({ explained }, key) {
  const found = explained?.writes;
  if (!found || found.refused) return null;
  const name = (/** @type {number} */ id) => tokenName(found.tokens[id]);
  const words = h("b", { translate: "no" }, found.favoured[key].map(name).join(" · "));
  const adds = [h("span", { translate: "no" }, name(found.answer)), ` ${signed(found.logit[key], 2)}`];
  return {
    favours: h("span", null, phrase("card.writes", { words })),
    adds: h("span", { title: t("card.adds") }, adds),
  };
}
