/** The arithmetic of one weight as a card: q and k, their products, the score, the softmax, and what the weight brings. */

import { ABSENT, ROUNDING } from "../../../model/compare/compare.js";
import { isDifference, isTrained } from "../../../model/compare/runs.js";
import { dividesProducts, normPlace, stackOf } from "../../../model/description.js";
import { isOpenHeadOff } from "../../../model/edits.js";
import { tokenName } from "../../../model/labels.js";
import { cellIn, indexOfMost, products, rowIn, sum } from "../../../model/matrix.js";
import { position } from "../../../model/selection.js";
import { biasRole, underRoot } from "../../../model/weight_arithmetic.js";
import { queryName } from "../../../model/written.js";
import { h } from "../../../ui/dom.js";
import { checkedNumber, checkMark, number, signed, significant } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import { math, mi, mo, sup } from "../../../ui/mathml.js";
import { couldFollow, nameNodes } from "../../../ui/token_text.js";
import { letterOf } from "../../formulas.js";
import { shortReasonOf } from "../../query_key.js";
import { drawCard, labelOf, nameIn, whereOf } from "../card.js";
import { writesWords } from "../parts.js";

/**
 * @import { Detail, HeadTrace } from "../../../data/model_trace.js"
 * @import { Scoring } from "../../../model/weight_arithmetic.js"
 * @import { State } from "../../../state/store.js"
 * @import { Child } from "../../../ui/dom.js"
 * @import { Line } from "../card.js"
 * @import { Terms } from "./weight.js"
 */

/**
 * @typedef {{scoring: Scoring, terms: Terms, termsBefore: Terms|null, query: number, key: number, part: number[],
 *   lengthOf: (part: number[]) => string|null, lit: string[]}} About  part: a·v; lengthOf: how far a·v·W_O moves the stream, null if W_O is
 *   not known; lit: the lines that the open step is about; termsBefore: without the edits, null if they are not known
 * @typedef {{row: ArrayLike<number>, weight: number, changed: boolean, part: number[]|null, q: ArrayLike<number>|null, k: ArrayLike<number>|null,
 *   terms: Terms|null}} Before  the same cell without the edits: its row of weights, its weight, whether that is another, its a·v, q and
 *   k, and what leads from these to the weight; null: not known
 * @typedef {{values?: ArrayLike<number>|null, text?: string|null}} Old  what a line showed without the edits; null: not known
 * @typedef {Line & {lead?: Child, text?: string, shown?: Child, old?: Old|false|null}} Compared  `text`: its number, after `lead`; `shown`: the same
 *   with a check; no `old`: not known
 */

/**
 * The card has the same lines before and after an edit, each in its place: what changed is seen where it was.
 * @param {HTMLElement} root @param {HeadTrace} trace @param {State} state @param {About} about
 */
export function drawWeightCard(root, trace, state, about) {
  const { query, key, terms, lit } = about;
  const before = isTrained(state) ? null : beforeOf(trace, about); // the other run of a comparison is not what was before
  const gap = isDifference(state) && before !== null;
  const moved = before !== null && Math.abs(terms.model - before.weight) >= ROUNDING;
  const names = { query: queryName(trace, query), key: nameIn(trace.keys.tokens, key) };
  const all = [
    ...scoreLines(trace, about, before, names),
    ...softmaxLines(trace, about, before),
    ...effectLines(trace, state, about, before, names),
  ];
  drawCard(
    root,
    {
      ...names,
      where: whereOf(trace.model, state),
      value: gap && moved ? signed(terms.model - before.weight) : weightText(terms.model),
      was: before?.changed && !gap ? weightText(before.weight) : null,
      both: gap ? (moved ? arrow(weightText(before.weight), weightText(terms.model)) : t("card.same")) : null,
    },
    all.map((line) => ({ ...(gap ? changeOf(line) : withOld(line)), lit: lit.includes(line.name) })),
  );
  return gap ? movedWords(trace, about, before) : null;
}

/** As many digits for each weight; of one that they cannot tell from 0, its size. @param {number} weight */
const weightText = (weight) => (weight > 0 && weight < 5e-5 ? significant(weight, 2) : number(weight, weight && 4));

/** null: it is not here, or the cell of a PAD, which is new. @param {HeadTrace} trace @param {About} about @returns {Before|null} */
function beforeOf({ detail, detailBefore: was }, { scoring, terms, termsBefore, query, key }) {
  if (!was?.pattern || was.pattern.data.length !== detail.pattern.data.length) return null;
  if (cellIn(was.mask, query, key) === ABSENT) return null;
  const row = rowIn(was.pattern, query);
  const weight = row[key];
  const part = scoring.distance || !was.v ? null : Array.from(rowIn(was.v, key), (one) => weight * one);
  const [q, k] = termsBefore ? [rowIn(was.q, query), rowIn(was.k, key)] : [null, null];
  const changed = weightText(weight) !== weightText(terms.model);
  return { row, weight, changed, part, q, k, terms: termsBefore };
}

// What a line was before the edits. After them, an outline at each bar and the number, struck; in the difference, the bars
// are differences and the number is written before → after. A line that did not change has neither, and is pale in the difference.

const arrow = (/** @type {string} */ was, /** @type {string} */ is) => `${was} → ${is}`;
const struck = (/** @type {string} */ was) => h("s", { class: "mono card-was", title: t("card.was") }, was);
/** A number of the card, after the one that it was. @param {string} text @param {string|null|undefined} was @param {Child} [shown] @returns {Child} */
const withWas = (text, was, shown = text) => (was && was !== text ? [struck(was), " ", shown] : shown);

/** Differences below this share of the longest bar are rounding. */
const SAME = 1e-4;

/** The differences; null if no bar changed. @param {ArrayLike<number>} now @param {ArrayLike<number>|null|undefined} was */
function gapsOf(now, was) {
  if (!was) return null;
  const gaps = Array.from(now, (one, i) => one - was[i]);
  const long = Math.max(...Array.from(now, Math.abs), ...Array.from(was, Math.abs));
  return gaps.some((gap) => Math.abs(gap) > SAME * long) ? gaps : null;
}

/** Stacked where two numbers and a sign between them are too long for one row. @param {Child} was @param {Child} is */
const stacked = (was, is) =>
  h("span", null, h("span", { class: "card-row" }, was), h("span", { class: "card-row" }, is));
const isLong = (/** @type {string} */ text) => text.includes("÷");

/** @param {Compared} line @returns {Line} */
function withOld({ lead, text = "", shown = text, old, ...line }) {
  const was = old && old.text !== text ? old.text : "";
  const ghosts = line.bars && old && gapsOf(line.bars.values, old.values) ? (old.values ?? undefined) : undefined;
  const bars = line.bars && { ...line.bars, was: ghosts };
  const number = was && isLong(text) ? stacked(struck(was), text) : withWas(text, was, shown);
  return { output: text && h("span", null, lead ?? "", number), ...line, bars };
}

/** @param {Compared} line @returns {Line} */
function changeOf(line) {
  const { old, text = "" } = line;
  const plain = withOld({ ...line, old: null });
  if (!old) return plain;
  const gaps = line.bars ? gapsOf(line.bars.values, old.values) : null;
  const unknown = old.text === null; // it was more than q and k, which are not here
  const from = unknown ? t("card.unknown") : (old.text ?? "");
  if (!gaps && !unknown && from === text) return { ...plain, same: true };
  const { look = /** @type {const} */ ("signed"), chosen } = line.bars ?? {};
  const bars = gaps ? { values: gaps, look, chosen } : line.bars;
  const output = isLong(text) ? stacked(from, `→ ${text}`) : arrow(from, text);
  return { ...plain, output: from === text ? text : output, bars, words: line.name === "scaled" ? "" : line.words };
}

/** The keys of the row whose weights grew and shrank most. @param {HeadTrace} trace @param {About} about @param {Before} before */
function movedWords(trace, { query }, { row: was }) {
  const gaps = gapsOf(rowIn(trace.detail.pattern, query), was);
  if (!gaps || Math.max(...gaps.map(Math.abs)) < 0.005) return null; // it would be printed as 0.00
  const named = (/** @type {number} */ at) => [
    h("b", { class: "k", translate: "no" }, nameNodes(nameIn(trace.keys.tokens, at))),
    " ",
    h("b", { class: "mono" }, signed(gaps[at], 2)),
  ];
  const [most, least] = [indexOfMost(gaps), indexOfMost(gaps.map((gap) => -gap))];
  const words = { winner: h("span", null, named(most)), loser: h("span", null, named(least)) };
  return h("span", null, phrase("card.row_moved", words));
}

/** eˢ ÷ Σ. @param {Terms} terms */
const ratioOf = ({ reasons, exp, rowSum }) =>
  rowSum === 0 ? "0" : `${reasons ? 0 : significant(exp, 4)} ÷ ${significant(rowSum, 4)}`;

/** @typedef {{query: string, key: string}} Names */

/** q, k, q·k. @param {HeadTrace} trace @param {About} about @param {Before|null} before @param {Names} names @returns {Compared[]} */
function scoreLines(trace, about, before, names) {
  const { scoring, terms, query, key } = about;
  const [q, k] = [rowIn(scoring.q, query), rowIn(scoring.k, key)];
  const was = before?.terms;
  const most = Math.max(...[q, k, before?.q ?? [], before?.k ?? []].flatMap((all) => Array.from(all, Math.abs)));
  return [
    {
      name: "q",
      label: labelOf("q", names.query, "q"),
      bars: { values: q, look: "q", most },
      old: before?.q && { values: before.q },
    },
    {
      name: "k",
      label: labelOf("k", names.key, "k"),
      bars: { values: k, look: "k", most },
      old: before?.k && { values: before.k },
    },
    {
      name: "dot",
      label: "q · k",
      bars: { values: products(q, k), look: "signed" },
      lead: "Σ ",
      text: two(terms.dot),
      old: was && { values: was.products, text: two(was.dot) },
    },
    ...addedLines(trace, about, was ?? null),
  ];
}

const two = (/** @type {number} */ one) => number(one, 2);

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

/** From q·k to the score: what the distance adds, ÷ √d, what positions add. @param {HeadTrace} trace @param {About} about @param {Terms|null} before @returns {Compared[]} */
function addedLines(trace, about, before) {
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
  const own = detail.scores.data[query * k.shape[0] + key];
  const score = {
    text: two(terms.scaled),
    shown: checkedNumber(terms.scaled, own, two(terms.scaled)),
    old: before && { text: two(before.scaled) },
  };
  const { distances: values, apart } = terms;
  const far = [math(mo("+"), mi("q", "q"), mo("·"), sup(mi("a"), mi("K")))];
  /** @type {(Compared|false)[]} */
  const lines = [
    distance !== null && {
      name: "distance",
      label: far,
      bars: { values, look: "signed" },
      lead: "Σ ",
      text: two(apart),
    },
    divides && {
      name: "scaled",
      label: [terms.root !== 1 && `÷ √${underRoot(terms.root)}`, heated && `÷ ${number(terms.temperature, 2)}`]
        .filter(Boolean)
        .join(" "),
      words: added === null && fits ? fits : t("card.scaled"),
      ...(added === null ? score : { text: two(terms.dot / terms.root) }),
    },
    added !== null && {
      name: "bias",
      label: math(mo("+"), letterOf(added)),
      words: fits || t("card.bias"),
      ...score,
    },
    !divides && added === null && { name: "scaled", label: math(mi("S")), words: fits || t("card.unscaled"), ...score },
  ];
  return lines.filter((line) => line !== false);
}

/** + M, eˢ ÷ Σ, the weight. @param {HeadTrace} trace @param {About} about @param {Before|null} before @returns {Compared[]} */
function softmaxLines({ detail, detailBefore }, { terms, query, key }, before) {
  const { reasons, rowSum, weight, model } = terms;
  const row = rowIn(detail.pattern, query);
  const spread = rowSum === 0 && model > 0; // as transformers does, where our models give zeros
  const own = spread ? 1 / row.length : weight;
  const added = (/** @type {number} */ of) => (of ? "−∞" : "+ 0");
  return [
    {
      name: "mask",
      label: "+ M",
      words: reasons ? h("b", { class: "q" }, shortReasonOf(reasons)) : t("card.allowed"),
      text: added(reasons),
      old: before && detailBefore && { text: added(cellIn(detailBefore.mask, query, key)) },
    },
    {
      name: "exp",
      label: ["e", h("sup", null, "s"), " ÷ Σ"],
      bars: { values: row, chosen: key, look: "signed" },
      text: ratioOf(terms),
      old: before && { values: before.row, text: before.terms ? ratioOf(before.terms) : null },
    },
    {
      name: "weight",
      label: t("card.weight"),
      share: model,
      was: before?.changed ? before.weight : null,
      lead: [checkMark(own, model), " "],
      text: weightText(own),
      old: before && { text: weightText(before.weight) },
    },
  ];
}

/** × v, what W_O makes of it, and what that adds to a logit: of a head that is off, nothing. @param {HeadTrace} trace @param {State} state @param {About} about @param {Before|null} before @param {Names} names @returns {Compared[]} */
function effectLines(trace, state, about, before, names) {
  const { scoring, part, lengthOf, terms, key } = about;
  const none = terms.model === 0;
  const off = isOpenHeadOff(state, trace);
  const was = before?.part ?? null;
  const longest = Math.max(...part.map(Math.abs), ...(was ?? []).map(Math.abs));
  const most = longest * Math.max(1, 0.12 / (Math.max(terms.model, before?.weight ?? 0) || 1)); // a small weight leaves small bars
  const v = {
    name: "part",
    label: scoring.distance ? "× (v + a)" : labelOf("× v", names.key, "v"),
    bars: { values: part, look: /** @type {const} */ ("v"), most },
    text: none ? "0" : "",
    old: was && { values: was, text: none ? "0" : "" },
  };
  if (lengthOf(part) === null) return [v];
  const written = writtenIn(trace, state, key);
  const nothing = (off && t("card.head_off")) || (none && t("card.times_zero"));
  const output = {
    name: "moves",
    label: ["W", h("sub", null, "O")],
    same: isDifference(state) && before?.changed === false,
  };
  if (!writesWords(state, trace.model) || (written === null && "writes" in trace.explained))
    return [v, { ...output, words: nothing || movesWords(trace, about, before, names), text: nothing ? "0" : "" }];
  return [v, { ...output, words: nothing || written?.favours || "" }, logitLine(trace, state, written, off)];
}

/** ‖a·v·W_O‖ in words. @param {HeadTrace} trace @param {About} about @param {Before|null} before @param {Names} names */
function movesWords({ model, attention }, { part, lengthOf }, before, { query }) {
  const normed = !["pre", null].includes(normPlace(stackOf(model, attention)));
  const value = h("span", null, withWas(lengthOf(part) ?? "", before?.part && lengthOf(before.part)));
  return h("span", null, phrase(normed ? "card.moves_normed" : "card.moves", { query, value }));
}

/** A number after its name. @param {string} key  of the catalogue @param {import("../../../ui/dom.js").Child} value */
const named = (key, value) => h("span", null, h("small", null, t(key)), " ", value);

/** What the cell adds to the logit of the answer, beside its head's sum. @param {HeadTrace} trace @param {State} state @param {ReturnType<typeof writtenIn>} written @param {boolean} off @returns {Compared} */
function logitLine({ explained }, state, written, off) {
  if (!written) return { name: "logit", label: t("card.logit"), words: "" };
  const { answer, adds, head } = written;
  const found = explained.writes_before;
  const was = found && !found.refused && found.answer === answer.id ? found.logit[written.key] : null;
  const now = off ? 0 : adds;
  const text = (/** @type {number} */ one) => signed(one, one && 2);
  const gap = isDifference(state) && was !== null;
  const shown = (/** @type {number} */ one, /** @type {number|null} */ before) =>
    gap ? text(one - (before ?? 0)) : withWas(text(one), before === null ? null : text(before));
  const headNow = shown(off ? 0 : head, was === null ? null : sum(found.logit));
  const parts = [named("card.of_head", headNow), " ", named("card.of_cell", shown(now, was))];
  return {
    name: "logit",
    label: labelOf(t("card.logit"), answer.name, "k"),
    words: "",
    output: h("span", { class: "card-two", title: t("card.adds") }, parts),
    same: gap && text(was) === text(now),
  };
}

/** The tokens that the key favours, what it adds to the logit of the answer, and what all of its head adds; null: not known, or not yet. @param {HeadTrace} trace @param {State} state @param {number} key */
function writtenIn(trace, state, key) {
  const found = trace.explained?.writes;
  if (!found || found.refused) return null;
  const name = (/** @type {number} */ id) => tokenName(found.tokens[id]);
  const before = trace.queries.tokens[position(state, trace).query];
  const favoured = /** @type {number[]} */ (found.favoured[key]);
  const others = favoured.filter((id, i) => favoured.findIndex((one) => name(one) === name(id)) === i); // “ car” and “car” are read alike
  const listed = others.flatMap((id, i) => [i ? " · " : "", couldFollow(found.tokens[id], before)]);
  const words = h("b", { translate: "no" }, listed);
  return {
    key,
    favours: h("span", null, phrase("card.writes", { words })),
    answer: { id: found.answer, name: name(found.answer) },
    adds: found.logit[key],
    head: sum(found.logit),
  };
}
