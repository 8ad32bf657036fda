/** How the river writes tokens, layers, answers and their numbers. */

import { mostNeeded } from "../../model/ablations.js";
import { showsMeans } from "../../model/description.js";
import { headKey } from "../../model/edits.js";
import { namesIn, nameText, partText } from "../../model/labels.js";
import { COMES, standsForWritten } from "../../model/written.js";
import { h } from "../../ui/dom.js";
import { briefPercent, number, shownPercent, signed } from "../../ui/format.js";
import { headShort } from "../../ui/heads.js";
import { t } from "../../ui/i18n.js";
import { className, nameNodes } from "../../ui/token_text.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Edge } from "../../model/interventions.js"
 * @import { Name } from "../../model/labels.js"
 * @import { Answer, Facts } from "../facts.js"
 * @import { Head } from "../layout/heads.js"
 * @import { Bead } from "../layout/layout.js"
 * @import { Line } from "../layout/lines.js"
 */

/** As a query: in its colour. @param {Name} name */
export const queryMark = (name) => h("b", { class: "q" }, nameNodes(nameText(name)));
/** As a key. @param {Name} name */
export const keyMark = (name) => h("b", { class: "looked" }, nameNodes(nameText(name)));
/** @param {Answer} answer */
export const answerMark = (answer) => h("b", { class: "said" }, nameNodes(answerName(answer)));

/** What is not written yet. @returns {Name} */
const toCome = () => ({ word: t("say.next_word"), nth: null });

/** What a row of a stack is called: in a translation by the token that it writes, where rows stand for that. @param {Pick<Facts, "names"|"written">} facts @param {number} row @param {number} [stack] @returns {Name} */
export const rowName = ({ names, written }, row, stack = 0) =>
  written && stack === 0 ? (names[0][row + 1] ?? toCome()) : names[stack][row];

/** The attention of an edge, and the stack with the tokens at one of its ends. @param {Facts} facts @param {Edge} edge @param {"queries"|"keys"} end */
export function edgeEnd({ rolled }, { attention }, end) {
  const flow = rolled.flatMap(({ flows }) => flows).find(({ flow }) => flow.attention === attention)?.flow;
  return {
    flow,
    stack: Math.max(
      0,
      rolled.findIndex(({ river }) => river.side === flow?.[end]),
    ),
  };
}

/** @param {Facts} facts @param {Edge} edge @returns {Name} */
export function keyNameOf(facts, edge) {
  return facts.names[edgeEnd(facts, edge, "keys").stack][edge.key] ?? { word: String(edge.key), nth: null };
}

/** @param {Facts} facts @param {Edge} edge @returns {Name} */
export function queryNameOf(facts, edge) {
  const { flow, stack } = edgeEnd(facts, edge, "queries");
  const written = facts.written || Boolean(flow && standsForWritten(flow));
  return rowName({ ...facts, written }, edge.query, stack) ?? { word: String(edge.query), nth: null };
}

/** @param {Answer} answer */
export function answerName({ token, name }) {
  if (!token) return className(String(name));
  return token.partial ? partText(token) : namesIn([token])[0];
}

/** What the line of the answers so far is called. @param {ModelTrace} trace */
export const lensTitleOf = ({ classes }) => t(classes ? "river.so_far" : "river.next");

/** What the small squares of an attention are, in a word: heads, or groups of features; and whose, of several. @param {Pick<ModelTrace, "attentions">} trace @param {string} id */
export function headWordsOf({ attentions }, id) {
  const heads = t(attentions.every(showsMeans) ? "river.groups_short" : "river.heads_short");
  return attentions.length > 1 ? t("river.heads_short_of", { of: t(`attention.short.${id}`), heads }) : heads;
}

/** Whether the small squares have bars: a measurement may be refused. @param {Pick<ModelTrace, "ablations">} trace */
export const hasBars = ({ ablations }) => Boolean(ablations && !ablations.error);

/**
 * How to read a small square and its bar, and without which head the answer loses most: from the longest to the shortest.
 * @param {ModelTrace} trace @param {Facts} facts @param {Head[]} heads  that are drawn @param {"changed"|"unchanged"|null} [change]  where it shows the difference: whether there is one
 */
export function headLegendOf(trace, facts, heads, change = null) {
  const of = trace.attentions.every(showsMeans) ? "river.heads_groups" : "river.heads";
  const said = t(change ? `river.heads_${change}` : of);
  if (!hasBars(trace)) return [said];
  const most = largestLoss(trace, facts, heads);
  const loss = most && t("river.head_most", most);
  const bars = ["river.head_bars", "river.head_bars_brief"].map((one) => t(one));
  return [...(loss ? bars.map((one) => said + one + loss) : []), ...bars.map((one) => said + one), bars[1].trim()];
}

/** The least loss that is said: half a percentage point. */
const LEAST_LOSS = 0.005;

/** The head without which the answer loses most, and how much; null: none matters, or nothing is measured. @param {ModelTrace} trace @param {Facts} facts @param {Head[]} heads */
function largestLoss(trace, facts, heads) {
  const drawn = new Set(heads.map(headKey));
  const one = mostNeeded(trace.ablations?.found ?? [], "delta", Infinity).find((one) => drawn.has(headKey(one)));
  const loss = one && (trace.ablations?.start?.p ?? 0) - one.p >= LEAST_LOSS ? lossOf(trace, facts, one) : null;
  return one && loss && loss.before !== loss.after ? { ...loss, head: headShort(trace.model, one) } : null;
}

/** What the answer loses without a head, if it was measured. @param {ModelTrace} trace @param {Facts} facts @param {Head} head */
export function lossOf({ ablations }, { answers, fall }, head) {
  const effect = ablations?.found.find((one) => one.kind === "head" && headKey(one) === headKey(head));
  const start = ablations?.start;
  const answer = [...answers, ...(fall ? [fall.answer] : [])].find(({ id }) => id === start?.answer);
  if (!effect || !start || !answer) return null;
  const [before, after] = [start.p, effect.p].map(briefPercent);
  return { answer: answerName(answer), before, after };
}

/** The tokens at both ends of a line: of a translation's decoder, the token that is written. @param {Facts} facts @param {Line} line */
export function endsOf(facts, { query, key, from, to }) {
  const named = { ...facts, written: isTranslation(facts) };
  return { query: nameText(rowName(named, query, to)), key: nameText(facts.names[from][key]) };
}

/** @param {Pick<Facts, "rolled">} facts */
export const isTranslation = ({ rolled }) => rolled[0].river.side === "target";

/** A share between these: where they are written differently, about the middle, "≈ 92 %". @param {{low: number, high: number}} between */
export function shareBetween({ low, high }) {
  const [least, most] = [briefPercent(low), briefPercent(high)];
  return least === most ? most : `≈\u00a0${briefPercent((low + high) / 2)}`;
}

/** The length of what an FFN adds, as a multiple of the stream before it. @param {Bead} bead */
export const ffnRatio = ({ ratio }) => number(ratio, 2);

// The answers in the picture: the first ones, each with its name and probability, and all others together.

/**
 * @typedef {{id?: number, name: string, p: number, text: string, change?: string|null, points?: string, before: number|null, rest?: boolean, signed?: boolean}} Bar
 *   one answer; `before`: without the edits; `change`: from that to `text`; `points`: the same in a narrow column, where the first says the unit; `signed`: the change alone is shown; `rest`: all others together
 */

/**
 * The first answers, and all others together. The one that the run without knockouts gives is always among them.
 * @param {Pick<Facts, "answers"|"answersBefore"|"fall"|"difference">} facts @param {number} most @returns {Bar[]}
 */
export function barsOf({ answers, answersBefore, fall, difference = false }, most) {
  const first = answers.slice(0, most);
  const lost = fall && fall.after !== null && !first.some(({ id }) => id === fall.answer.id);
  // Where there is one bar, and that of all others, both are for the two answers that changed places.
  if (lost) first[Math.max(1, most - 1)] = { ...fall.answer, p: /** @type {number} */ (fall.after) };
  const before = new Map(answersBefore.map(({ id, p }) => [id, p]));
  const least = answersBefore.at(-1)?.p ?? null; // what is not listed had less
  const bars = first.map((answer, i) => {
    const listed = before.get(answer.id) ?? null;
    const was = listed ?? (difference && least !== null ? least / 2 : null);
    return {
      id: answer.id,
      name: answerName(answer),
      p: answer.p,
      text: briefPercent(answer.p),
      change:
        difference && was !== null
          ? (listed === null ? about(0, least ?? 0, answer.p) : "") + pointsText(was, answer.p)
          : changeText(was, answer.p),
      points: i ? pointsOf(was ?? answer.p, answer.p) : pointsText(was ?? answer.p, answer.p, "_brief"),
      before: was,
      signed: difference && was !== null,
    };
  });
  const rest = Math.max(0, 1 - first.reduce((sum, { p }) => sum + p, 0));
  if (!first.length || first.length > most || first.every(({ name }) => name !== null)) return bars;
  const others = { name: t("river.others"), p: rest, text: briefPercent(rest), before: null, rest: true };
  if (!difference || bars.some(({ before }) => before === null)) return [...bars, others];
  const gone = Math.max(0, 1 - bars.reduce((sum, { before }) => sum + (before ?? 0), 0));
  const slack = ((least ?? 0) / 2) * first.filter(({ id }) => !before.has(id)).length;
  const change = about(gone - slack, gone + slack, rest) + pointsText(gone, rest);
  return [...bars, { ...others, before: gone, change, points: pointsOf(gone, rest), signed: true }];
}

/** "≈" before a change from what is only known to be between `least` and `most`, if that may round in two ways. @param {number} least @param {number} most @param {number} p */
const about = (least, most, p) => (pointsText(least, p) === pointsText(most, p) ? "" : "≈\u00a0");

/** A change of a probability: "−36 points", "−36 pts". @param {number} was @param {number} now @param {""|"_brief"} [form] */
const pointsText = (was, now, form = "") => t(`river.points${form}`, { points: pointsOf(was, now) });

/** In percentage points: "−36". A large one fits the rounded numbers shown beside it. @param {number} was @param {number} now */
function pointsOf(was, now) {
  const exact = 100 * (now - was);
  const digits = Math.abs(exact) < 9.95 ? 1 : 0;
  const points = digits ? exact : shownPercent(now) - shownPercent(was);
  const text = signed(points, digits);
  return Number(points.toFixed(digits)) === 0 ? "0" : text;
}

/** "98 → 62 %"; null: an edit has not changed it. @param {number|null} was @param {number} p */
function changeText(was, p) {
  const [before, now] = [was ?? p, p].map(briefPercent);
  return before === now ? null : `${before.replace(/\s*%$/, "")} → ${now}`;
}

// What each row of a translation wrote: the token after it.

/**
 * For each token of the answering stack, the one that its row wrote; the last row's is not there yet. [] where rows
 * read as they write: the token after a word of a story is the row below it, and says nothing new.
 * @param {{rolled: {river: {side: string}}[], names: Name[][]}} facts @returns {string[]}
 */
export function wroteOf({ rolled: [{ river }], names: [own] }) {
  if (river.side !== "target") return [];
  return own.map((_, row) => (own[row + 1] ? nameText(own[row + 1]) : COMES));
}

/** The labels of the answering stack where there is only space for one of both: what rows wrote, where they stand for that. @param {Facts} facts @returns {Name[]|null} */
export const writtenLabels = (facts) =>
  facts.written && isTranslation(facts) ? wroteOf(facts).map((word) => ({ word, nth: null })) : null;

/** Between a row's label and what it wrote. */
export const WROTE = "\u2009⇒ ";

// Which connections are hidden.

/** Above this many places, only their count is given. */
const MOST_PLACES = 3;

/** How many connections are hidden, and where: "6 connections hidden (5 in head 5·5, 1 in all layers)". @param {Facts} facts */
export function hiddenWords(facts) {
  const places = placesHidden(facts);
  const n = places.reduce((sum, [, count]) => sum + count, 0);
  if (places.length === 1) return t("changed.hidden_in", { n, place: places[0][0] });
  if (places.length > MOST_PLACES) return t("changed.hidden_at", { n, places: places.length });
  const said = places.map(([place, count]) => t("changed.hidden_place", { n: count, place }));
  return t("changed.hidden_many", { n, places: said.join(t("compare.comma")) });
}

/** The places, each with how many are hidden there: in several layers a connection is one, as in the list of edits (`countOf`). @param {Facts} facts */
function placesHidden(facts) {
  const layers = /** @type {Map<string, number[]>} */ (new Map());
  for (const { attention, layer, head, query, key } of facts.knockouts) {
    const one = [attention, query, key, head === undefined ? "" : `${layer} ${head}`].join();
    layers.set(one, [...(layers.get(one) ?? []), layer]);
  }
  const places = /** @type {Map<string, number>} */ (new Map());
  for (const [one, of] of layers) {
    const [layer, head] = one.split(",")[3].split(" ");
    const [within, n] = [of.length === layersIn(facts) ? "layers" : of.length > 1 ? "some" : "layer", of.length];
    const place = head ? t("edits.in_head", { layer, head }) : t(`edits.in_${within}`, { layer: of[0], n });
    places.set(place, (places.get(place) ?? 0) + 1);
  }
  return [...places];
}

/** How many layers the stack has in which something is hidden. @param {Facts} facts */
export const layersIn = ({ rolled, knockouts }) =>
  rolled.find(({ flows }) => flows.some(({ flow }) => flow.attention === knockouts[0].attention))?.river.layers ?? 0;
