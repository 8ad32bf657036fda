/** How the river writes tokens, layers, answers and their numbers. */

import { showsMeans } from "../../model/description.js";
import { namesOf, nameText } from "../../model/labels.js";
import { h } from "../../ui/dom.js";
import { briefPercent, number } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { className } from "../../ui/token_text.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Attention } from "../../model/description.js"
 * @import { Edge } from "../../model/interventions.js"
 * @import { Name } from "../../model/labels.js"
 * @import { Answer, Facts } from "../facts.js"
 * @import { Bead } from "../layout/layout.js"
 * @import { Line } from "../layout/lines.js"
 */

/** As a query: in its colour. @param {Name} name */
export const queryMark = (name) => h("b", { class: "q" }, nameText(name));
/** As a key. @param {Name} name */
export const keyMark = (name) => h("b", { class: "looked" }, nameText(name));
/** @param {Answer} answer */
export const answerMark = (answer) => h("b", { class: "said" }, answerName(answer));

/** The stack with tokens of this side, and one's name. @param {Facts} facts @param {Edge} edge @param {"queries"|"keys"} end @param {number} at @returns {Name} */
function nameAt({ rolled, names }, { attention }, end, at) {
  const flow = rolled.flatMap(({ flows }) => flows).find(({ flow }) => flow.attention === attention)?.flow;
  const stack = rolled.findIndex(({ river }) => river.side === flow?.[end]);
  return names[Math.max(0, stack)][at] ?? { word: String(at), nth: null };
}

/** @param {Facts} facts @param {Edge} edge */
export const keyNameOf = (facts, edge) => nameAt(facts, edge, "keys", edge.key);
/** @param {Facts} facts @param {Edge} edge */
export const queryNameOf = (facts, edge) => nameAt(facts, edge, "queries", edge.query);

/** @param {Answer} answer */
export const answerName = ({ token, name }) => (token ? nameText(namesOf([token])[0]) : className(String(name)));

/** @param {{stack: string}} band @param {number} layer @param {boolean} narrow */
export function layerTitle({ stack }, layer, narrow) {
  return narrow ? String(layer) : t(`river.layer_${stack}`, { layer });
}

/** What the line of the answers so far is called. @param {ModelTrace} trace */
export const lensTitleOf = ({ classes }) => t(classes ? "river.so_far" : "river.next");

/** What a small square of an attention is: a head, or a group of features; in a word where two stacks have squares. @param {ModelTrace} trace @param {string} id */
export function headWordsOf({ attentions, pool: n }, id) {
  if (attentions.every(showsMeans)) return t("river.heads_groups");
  if (n > 1) return t("river.heads_pooled", { n });
  const { stack, queries, keys } = /** @type {Attention} */ (attentions.find((one) => one.id === id));
  if (attentions.every((one) => one.stack === stack)) return t("river.heads");
  return t(queries === keys ? "river.heads_short" : "river.heads_cross");
}

/** The tokens at both ends of a line. @param {Facts} facts @param {Line} line */
export function endsOf({ names }, { query, key, from, to }) {
  return { query: nameText(names[to][query]), key: nameText(names[from][key]) };
}

/** A share between these: one number where both are written alike, otherwise "92–93 %". @param {{low: number, high: number}} between */
export function shareBetween({ low, high }) {
  const [least, most] = [briefPercent(low), briefPercent(high)];
  return least === most ? most : `${least.replace(/\s*%$/, "")}–${most}`;
}

/** The length of what an FFN adds, as a multiple of the stream before it. @param {Bead} bead */
export const ffnRatio = ({ ratio }) => number(ratio, 2);

// The answers in the picture: the first ones, each with its name and probability, and all others together.

/**
 * @typedef {{id?: number, name: string, p: number, text: string, before: number|null, rest?: boolean}} Bar  one answer; `before`: without the knockouts;
 *   `rest`: all others together
 */

/**
 * The first answers, and all others together. The one that the run without knockouts gives is always among them.
 * @param {Pick<Facts, "answers"|"answersBefore"|"fall">} facts @param {number} most @returns {Bar[]}
 */
export function barsOf({ answers, answersBefore, fall }, most) {
  const first = answers.slice(0, most);
  const lost = fall && fall.after !== null && !first.some(({ id }) => id === fall.answer.id);
  if (lost) first[most - 1] = { ...fall.answer, p: /** @type {number} */ (fall.after) };
  const before = new Map(answersBefore.map(({ id, p }) => [id, p]));
  const bars = first.map((answer) => ({
    id: answer.id,
    name: answerName(answer),
    p: answer.p,
    text: briefPercent(answer.p),
    before: before.get(answer.id) ?? null,
  }));
  const rest = Math.max(0, 1 - first.reduce((sum, { p }) => sum + p, 0));
  if (!first.length || first.every(({ name }) => name !== null)) return bars;
  return [...bars, { name: t("river.others"), p: rest, text: briefPercent(rest), before: null, rest: true }];
}

// What each row of a translation wrote: the token after it.

/**
 * For each token of the answering stack, the one that its row wrote; the last row's is not there yet. [] where rows
 * read as they write: the token after a word of a story is the row below it, and says nothing new.
 * @param {{rolled: {river: {side: string}}[], names: Name[][]}} facts @returns {(string|null)[]}
 */
export function wroteOf({ rolled: [{ river }], names: [own] }) {
  if (river.side !== "target") return [];
  return own.map((_, row) => own[row + 1]?.word ?? null);
}

/** What a row wrote, as shown next to its label. @param {string|null|undefined} word */
export const wroteText = (word) => (word ? `\u2009⇒ ${word}` : "");
