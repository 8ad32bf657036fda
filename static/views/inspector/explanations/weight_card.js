/** The arithmetic of one weight as a card: q and k, their products, the score, the softmax, and what the weight brings. */

import { ABSENT } from "../../../model/compare/compare.js";
import { isDifference, isTrained } from "../../../model/compare/runs.js";
import { dividesProducts, normPlace, stackOf } from "../../../model/description.js";
import { isOpenHeadOff } from "../../../model/edits.js";
import { tokenName } from "../../../model/labels.js";
import { cellIn, products, rowIn, sum } from "../../../model/matrix.js";
import { biasRole, underRoot } from "../../../model/weight_arithmetic.js";
import { queryName } from "../../../model/written.js";
import { h } from "../../../ui/dom.js";
import { checkedNumber, checkMark, number, signed, significant } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import { math, mi, mo, sup } from "../../../ui/mathml.js";
import { nameNodes } from "../../../ui/token_text.js";
import { letterOf } from "../../formulas.js";
import { shortReasonOf } from "../../query_key.js";
import { drawCard, labelOf, nameIn, whereOf } from "../card.js";
import { writesWords } from "../parts.js";

/**
 * @import { Detail, HeadTrace } from "../../../data/model_trace.js"
 * @import { Scoring } from "../../../model/weight_arithmetic.js"
 * @import { State } from "../../../state/store.js"
 * @import { Line } from "../card.js"
 * @import { Terms } from "./weight.js"
 */

/**
 * @typedef {{scoring: Scoring, terms: Terms, termsBefore: Terms|null, query: number, key: number, part: number[], length: string|null,
 *   lit: string[]}} About  part: a·v; length: how far a·v·W_O moves the stream, null if W_O is not known; lit: the lines
 *   that the open step is about; termsBefore: without the edits, null if they are not known
 * @typedef {{row: ArrayLike<number>, weight: number, changed: boolean, part: number[]|null, q: ArrayLike<number>|null, k: ArrayLike<number>|null,
 *   terms: Terms|null}} Before  the same cell without the edits: its row of weights, its weight, whether that is another, its a·v, q and
 *   k, and what leads from these to the weight; null: not known
 */

/**
 * The card has the same lines before and after an edit, each in its place: what changed is seen where it was.
 * @param {HTMLElement} root @param {HeadTrace} trace @param {State} state @param {About} about
 */
export function drawWeightCard(root, trace, state, about) {
  const { query, key, terms, lit } = about;
  const before = isTrained(state) ? null : beforeOf(trace, about); // the other run of a comparison is not what was before
  const gap = isDifference(state) && before !== null;
  const names = { query: queryName(trace, query), key: nameIn(trace.keys.tokens, key) };
  const all = [
    ...scoreLines(trace, about, names),
    ...softmaxLines(trace, about, before, gap),
    ...effectLines(trace, state, about, before, names),
  ];
  const lines = gap && before ? all.map((line) => changeOf(line, trace, about, before)) : all;
  drawCard(
    root,
    {
      ...names,
      where: whereOf(trace.model, state),
      value: gap ? signed(terms.model - before.weight) : weightText(terms.model),
      was: before?.changed && !gap ? weightText(before.weight) : null,
      both: gap ? arrow(weightText(before.weight), weightText(terms.model)) : null,
    },
    lines.map((line) => ({ ...line, lit: lit.includes(line.name) })),
  );
}

/** As many digits for each weight; of one that they cannot tell from 0, its size. @param {number} weight */
const weightText = (weight) => (weight > 0 && weight < 5e-5 ? significant(weight, 2) : number(weight, weight && 4));

/** null: it is not here. @param {HeadTrace} trace @param {About} about @returns {Before|null} */
function beforeOf({ detail, detailBefore: was }, { scoring, terms, termsBefore, query, key }) {
  if (!was?.pattern || was.pattern.data.length !== detail.pattern.data.length) return null;
  const row = rowIn(was.pattern, query);
  const weight = row[key];
  const part = scoring.distance || !was.v ? null : Array.from(rowIn(was.v, key), (one) => weight * one);
  const [q, k] = termsBefore ? [rowIn(was.q, query), rowIn(was.k, key)] : [null, null];
  const there = cellIn(was.mask, query, key) !== ABSENT; // a PAD's cell is new
  const changed = there && weightText(weight) !== weightText(terms.model);
  return { row, weight, changed, part, q, k, terms: termsBefore };
}

// What changed, line by line: bars are differences, and so is each number, or it is written before → after. A line that did not change
// is the same as ever, and pale.

const arrow = (/** @type {string} */ was, /** @type {string} */ is) => `${was} → ${is}`;

/** Differences below this share of the longest bar are rounding. */
const SAME = 1e-4;

/** The differences; null if no bar changed. @param {ArrayLike<number>} now @param {ArrayLike<number>|null|undefined} was */
function gapsOf(now, was) {
  if (!was) return null;
  const gaps = Array.from(now, (one, i) => one - was[i]);
  const long = Math.max(...Array.from(now, Math.abs), ...Array.from(was, Math.abs));
  return gaps.some((gap) => Math.abs(gap) > SAME * long) ? gaps : null;
}

/** @param {Line} line @param {HeadTrace} trace @param {About} about @param {Before} before @returns {Line} */
function changeOf(
  line,
  { detailBefore },
  { scoring, terms, query, key, part },
  { q, k, part: partWas, terms: was, changed },
) {
  /** @param {ArrayLike<number>|null} gaps @param {string} [output] @returns {Line} */
  const bars = (gaps, output) =>
    gaps ? { ...line, bars: { values: gaps, look: line.bars?.look ?? "signed" }, output } : { ...line, same: true };
  /** @param {string} from @param {string} to @returns {Line} */
  const numbers = (from, to) =>
    from === to
      ? { ...line, same: true }
      : { ...line, words: line.name === "mask" ? line.words : "", output: arrow(from, to) };
  const two = (/** @type {number} */ one) => number(one, 2);
  if (line.name === "part") return bars(gapsOf(part, partWas), "");
  if (line.name === "moves") return { ...line, same: !changed };
  if (line.name === "mask")
    return numbers(detailBefore && cellIn(detailBefore.mask, query, key) ? "−∞" : "+ 0", terms.reasons ? "−∞" : "+ 0");
  if (!was || !q || !k) return line;
  if (line.name === "q") return bars(gapsOf(rowIn(scoring.q, query), q));
  if (line.name === "k") return bars(gapsOf(rowIn(scoring.k, key), k));
  if (line.name === "dot") return bars(gapsOf(terms.products, was.products), arrow(two(was.dot), two(terms.dot)));
  if (line.name === "scaled") return numbers(two(was.scaled), two(terms.scaled));
  if (line.name === "exp" && changed) {
    const both = [ratioOf(was), `→ ${ratioOf(terms)}`].map((one) => h("span", { class: "card-row" }, one));
    return { ...line, output: h("span", null, both) };
  }
  return line;
}

/** eˢ ÷ Σ. @param {Terms} terms */
const ratioOf = ({ reasons, exp, rowSum }) =>
  rowSum === 0 ? "0" : `${reasons ? 0 : significant(exp, 4)} ÷ ${significant(rowSum, 4)}`;

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
  const name = (/** @type {number} */ at) =>
    h("b", { class: "k", translate: "no" }, nameNodes(nameIn(trace.keys.tokens, at)));
  const words = { key: name(key), other: name(rival), score: number(row[rival], 2) };
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
  const score = checkedNumber(terms.scaled, detail.scores.data[query * k.shape[0] + key], number(terms.scaled, 2));
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

/** + M, eˢ ÷ Σ, the weight. @param {HeadTrace} trace @param {About} about @param {Before|null} before @param {boolean} gap  whether what changed is shown @returns {Line[]} */
function softmaxLines({ detail }, { terms, query, key }, before, gap) {
  const { reasons, rowSum, weight, model } = terms;
  const row = rowIn(detail.pattern, query);
  const spread = rowSum === 0 && model > 0; // as transformers does, where our models give zeros
  const own = spread ? 1 / row.length : weight;
  const gaps = gap ? gapsOf(row, before?.row) : null;
  const bars = gaps ? { values: gaps, chosen: key } : { values: row, chosen: key, was: gap ? undefined : before?.row };
  return [
    {
      name: "mask",
      label: "+ M",
      words: reasons ? h("b", { class: "q" }, shortReasonOf(reasons)) : t("card.allowed"),
      output: reasons ? "−∞" : "+ 0",
    },
    {
      name: "exp",
      label: ["e", h("sup", null, "s"), " ÷ Σ"],
      bars: { ...bars, look: "signed" },
      output: gap && before?.changed ? "" : ratioOf(terms),
      same: gap && !before?.changed,
    },
    {
      name: "weight",
      label: t("card.weight"),
      share: model,
      was: before?.changed ? before.weight : null,
      output:
        gap && before?.changed
          ? signed(model - before.weight)
          : h("span", null, checkMark(own, model), " ", weightText(own)),
      same: gap && !before?.changed,
    },
  ];
}

/** × v, what W_O makes of it, and what that adds to a logit: of a head that is off, nothing. @param {HeadTrace} trace @param {State} state @param {About} about @param {Before|null} before @param {Names} names @returns {Line[]} */
function effectLines(trace, state, about, before, names) {
  const { scoring, part, length, terms, key } = about;
  const none = terms.model === 0;
  const off = isOpenHeadOff(state, trace);
  const was = before?.changed ? (before.part ?? undefined) : undefined;
  const longest = Math.max(...part.map(Math.abs), ...(was ?? []).map(Math.abs));
  const most = longest * Math.max(1, 0.12 / (Math.max(terms.model, (was && before?.weight) || 0) || 1)); // a small weight leaves small bars
  const v = {
    name: "part",
    label: scoring.distance ? "× (v + a)" : labelOf("× v", names.key, "v"),
    bars: { values: part, look: /** @type {const} */ ("v"), most, was },
    output: none ? "0" : "",
  };
  if (length === null) return [v];
  const written = writtenIn(trace, key);
  const nothing = (off && t("card.head_off")) || (none && t("card.times_zero"));
  const output = { name: "moves", label: ["W", h("sub", null, "O")] };
  if (!writesWords(state, trace.model) || (written === null && "writes" in trace.explained))
    return [v, { ...output, words: nothing || movesWords(trace, about, names), output: nothing ? "0" : "" }];
  return [v, { ...output, words: nothing || written?.favours || "" }, logitLine(trace, state, written, off)];
}

/** ‖a·v·W_O‖ in words. @param {HeadTrace} trace @param {About} about @param {Names} names */
function movesWords({ model, attention }, { length }, { query }) {
  const normed = !["pre", null].includes(normPlace(stackOf(model, attention)));
  return t(normed ? "card.moves_normed" : "card.moves", { query, value: length ?? "" });
}

/** A number after its name. @param {string} key  of the catalogue @param {import("../../../ui/dom.js").Child} value */
const named = (key, value) => h("span", null, h("small", null, t(key)), " ", value);

/** What the cell adds to the logit of the answer, beside its head's sum. @param {HeadTrace} trace @param {State} state @param {ReturnType<typeof writtenIn>} written @param {boolean} off @returns {Line} */
function logitLine({ explained }, state, written, off) {
  const line = { name: "logit", label: t("card.logit") };
  if (!written) return { ...line, words: "" };
  const { answer, adds, head } = written;
  const found = explained.writes_before;
  const was = found && !found.refused && found.answer === answer.id ? found.logit[written.key] : null;
  const now = off ? 0 : adds;
  const token = h("b", { class: "k", translate: "no" }, answer.name);
  const text = (/** @type {number} */ one) => signed(one, one && 2);
  const struck =
    was !== null && text(was) !== text(now) && h("s", { class: "card-was", title: t("card.was") }, text(was));
  const gap = isDifference(state) && was !== null;
  const headWas = gap ? sum(found.logit) : 0;
  const cell = gap ? text(now - was) : [struck, " ", text(now)];
  const parts = [named("card.of_head", text((off ? 0 : head) - headWas)), " ", named("card.of_cell", cell)];
  return {
    ...line,
    words: h("span", null, phrase("card.logit_of", { token })),
    output: h("span", { class: "card-two", title: t("card.adds") }, parts),
    same: gap && text(was) === text(now),
  };
}

/** The tokens that the key favours, what it adds to the logit of the answer, and what all of its head adds; null: not known, or not yet. @param {HeadTrace} trace @param {number} key */
function writtenIn({ explained }, key) {
  const found = explained?.writes;
  if (!found || found.refused) return null;
  const name = (/** @type {number} */ id) => tokenName(found.tokens[id]);
  const names = new Set(/** @type {number[]} */ (found.favoured[key]).map(name)); // “ car” and “car” are read alike
  const words = h("b", { translate: "no" }, [...names].join(" · "));
  return {
    key,
    favours: h("span", null, phrase("card.writes", { words })),
    answer: { id: found.answer, name: name(found.answer) },
    adds: found.logit[key],
    head: sum(found.logit),
  };
}
