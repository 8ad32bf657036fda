/**
 * The sentence over the stage, from measured numbers: what the model says, what decides it, what a knockout has changed
 * (`changes.js`), of a place that is open (`spots.js`).
 */

import { edgeKey } from "../../model/interventions.js";
import { h } from "../../ui/dom.js";
import { briefPercent, number } from "../../ui/format.js";
import { keyFor, phrase, t } from "../../ui/i18n.js";
import { effectOf } from "../facts.js";
import { edgesToSource } from "../knockout_effects.js";
import { briefEffect, changeWords, cutWords, elsewhereWords } from "./changes.js";
import {
  answerMark,
  answerName,
  edgeEnd,
  isTranslation,
  keyMark,
  keyNameOf,
  queryMark,
  queryNameOf,
  rowName,
  shareBetween,
} from "./names.js";
import { besideWritten, comesWords, otherTextWords, spotWords, writtenWords } from "./spots.js";

/**
 * @import { Edge } from "../../model/interventions.js"
 * @import { Name } from "../../model/labels.js"
 * @import { Answer, Facts } from "../facts.js"
 * @import { Bead } from "../layout/layout.js"
 * @import { Line } from "../layout/lines.js"
 * @import { Spot, Written } from "./spots.js"
 */

/**
 * @typedef {(Node|string)[]} Words
 */

/**
 * @typedef {{layer: number, head: number, edge: Edge, weight: number|null, masked: boolean, was: {weight: number, masked: boolean}|null,
 *   most: {key: number, weight: number}|null, later: number|null,
 *   vectors: {q: boolean, k: boolean}|null}} HeadSaid  the chosen weight of the open head; null: it is not here yet. `was`: with the masks as in training; `most`: the largest of its row; `later`: how much of its row is on later tokens;
 *   `vectors`: which of its q and k an edit changed
 */

/**
 * What is seen, and the one edit that matters most.
 * @param {Facts} facts @param {string} predicts  what a row is about @param {HeadSaid|null} head  of an open head
 * @param {Written|null} [written]  how the chosen token was drawn, if it is the last @param {Spot|null} [spot]  of another open place
 * @returns {Words}
 */
export function sentenceOf(facts, predicts, head, written = null, spot = null) {
  const { step = null, newest = false } = written ?? {};
  const wrote = written && step && !facts.isEnd && facts.answers.length > 0;
  if (wrote && newest) return [...writtenWords(facts, { ...written, step }), ...besideWritten(facts, head, spot)];
  const elsewhere = head && elsewhereWords(facts, head);
  if (elsewhere) return elsewhere;
  if (facts.masks) {
    const known = facts.fall || facts.isEnd || !facts.answers.length; // a saved run has nothing before
    const said = known ? [] : saysWords(facts, predicts);
    return [...changeWords(facts, predicts, head), ...said];
  }
  if (facts.fall) return changeWords(facts, predicts);
  const other = written ? otherTextWords(written) : [];
  if (head) return [...headSentence(facts, head, other.length > 0), ...other];
  if (wrote) return writtenWords(facts, { ...written, step });
  const there = spot && spot.at !== "prediction" && spotWords(spot);
  if (there) return there;
  if (facts.isEnd) return [t("generation.end_of_text"), isTranslation(facts) ? t("river.pick") : ""];
  const second = spot?.at === "prediction" ? secondWords(facts) : [];
  const says = [...saysWords(facts, predicts), ...second, ...comesWords(facts.comes ?? null), ...sourceWords(facts)];
  return [...says, ...(other.length > 0 ? other : [h("span", { class: "tells" }, decidingWords(facts))])];
}

/**
 * What the chosen token of an open head attends to, and what hiding that in this head and in its layer does.
 * @param {Facts} facts @param {HeadSaid} said @param {boolean} brief  only in this head: something else is offered, too @returns {Words}
 */
function headSentence(facts, { layer, head, edge, weight, most, masked }, brief) {
  const words = { layer, head, query: queryMark(queryNameOf(facts, edge)), key: keyMark(keyNameOf(facts, edge)) };
  if (masked) return phrase("say.head_masked", words);
  const first = phrase(`say.${attendsKey(facts, edge, most)}${weight === null ? "" : "_weight"}`, {
    ...words,
    p: briefPercent(weight ?? 0),
  });
  const [inHead, inLayer] = [{ ...edge, head }, edge].map((one) => effectOf(facts, one));
  const [answer] = facts.answers;
  if (!facts.canKnockOut || !answer) return first;
  const before = facts.measured?.start?.p ?? answer.p;
  const matters = (/** @type {{p: number}|undefined} */ effect) =>
    effect && isMoved(before, effect.p) ? effect : null;
  /** @param {"head"|"layer"} hides @param {{p: number}} effect */
  const offer = (hides, { p }) => {
    const attrs = { class: "link", type: "button", dataset: { testid: `hide-in-${hides}`, hides } };
    const alone = hides === "layer" && !offered[0] ? "_alone" : "";
    const named = { layer, key: keyMark(keyNameOf(facts, edge)) };
    const cut = h("button", attrs, phrase(`say.hide_in_${hides}${alone}`, named));
    const verb = p < before ? "without" : "without_rises";
    return h(
      "span",
      { class: "tells" },
      // The second one has the same subject.
      offered[0] && hides === "layer"
        ? briefEffect(cut, p)
        : cutWords(`river.${verb}`, cut, { answer: answerMark(answer), p: briefPercent(p) }),
    );
  };
  // The layer's is often known before: it waits, so that no button moves under the pointer.
  const waits = !inHead && !facts.measured?.refused?.includes(edgeKey({ ...edge, head }));
  if (waits) return first;
  const offered = [inHead, inLayer].map(matters); // what changes nothing is not offered
  if (inLayer && !offered[0] && !offered[1]) return [...first, t("say.hide_nothing")];
  const [ofHead, ofLayer] = offered;
  const rest = ofLayer && !(brief && ofHead) ? [offer("layer", ofLayer)] : [];
  return [...first, ...(ofHead ? [offer("head", ofHead)] : []), ...rest];
}

/** Whether a probability changes by half a point, or by a tenth of itself where it is written otherwise. @param {number} before @param {number} after */
const isMoved = (before, after) =>
  briefPercent(before) !== briefPercent(after) &&
  (Math.abs(after - before) >= 0.005 || Math.abs(after - before) >= 0.1 * before);

/** How it is said: of a translation, where a word that is written came from. @param {Facts} facts @param {Edge} edge @param {HeadSaid["most"]} most */
function attendsKey({ written, names: [own] }, { query, key }, most) {
  if (!written) return "head";
  return query + 1 < own.length ? (most?.key === key ? "head_wrote_most" : "head") : "head_writes";
}

/** Where the first answer is less likely than this, many others are about as likely. */
const FLAT = 0.2;

/** @type {Record<string, string>} */
const SAYS = { classes: "river.says_class", same: "river.says_gap" };

/** @param {Facts} facts @param {string} predicts @returns {Words} */
export function saysWords(facts, predicts) {
  const {
    names: [own],
    row,
    answers: [answer],
  } = facts;
  if (!answer) return gathersWords(facts);
  const token = queryMark(rowName(facts, row));
  if (facts.written) {
    const next = own[row + 1];
    const name = answerName({ ...answer, token: answer.token && { ...answer.token, piece: false } });
    const key = !next ? "next" : next.word === name ? "wrote" : "instead";
    return phrase(`river.says_${key}`, { token, answer: answerMark(answer), p: briefPercent(answer.p) });
  }
  const usual = predicts === "next" && answer.p < FLAT ? "river.says_flat" : "river.says";
  return phrase(SAYS[predicts] ?? usual, { token, answer: answerMark(answer), p: briefPercent(answer.p) });
}

/** At the prediction also the second answer, which two answers tell already. @param {Facts} facts @returns {Words} */
const secondWords = ({ answers: [, second, third] }) =>
  third ? phrase("say.second", { answer: answerMark(second), p: briefPercent(second.p) }) : [];

/** @param {Pick<Facts, "names"|"row"|"written">} facts @returns {Words} */
export const gathersWords = (facts) => phrase("river.gathers", { token: queryMark(rowName(facts, facts.row)) });

/** Of a translation, the source word that brings most. @param {Facts} facts @returns {Words} */
function sourceWords(facts) {
  const source = sourceOf(facts);
  return source ? phrase("river.source", { key: keyMark(facts.names[source.stack][source.key]) }) : [];
}

/** The stack and the token of that word, which is also marked in the text and in the picture; null: the sentence names another one, or none. @param {Facts} facts @returns {{stack: number, key: number}|null} */
export function sourceOf(facts) {
  if (!facts.written || facts.waits || facts.masks || facts.fall || !facts.answers.length || isEnded(facts))
    return null;
  const [edge] = edgesToSource(facts.rolled[0], facts.row);
  return edge ? { stack: edgeEnd(facts, edge, "keys").stack, key: edge.key } : null;
}

/** Tokens that are read as words of the sentence around them: "from from in all layers". */
const MISREAD = /^(a|all|an|and|from|in|of|the|to)$/i;

/** The answer without the edges that matter most, or that none matters. @param {Facts} facts @returns {Words} */
function decidingWords(facts) {
  const { deciding, start } = facts.measured ?? {};
  if (!deciding || !start || !facts.answers.length) return [];
  const picture = facts.names[0].some(({ patch }) => patch);
  if (briefPercent(deciding.p) === briefPercent(start.p))
    return [t(isEnded(facts) ? "river.pick" : keyFor({ picture }, "river.without_none"))];
  const [edge] = deciding.edges;
  const query = queryNameOf(facts, edge);
  const one = deciding.edges.length > 1 ? "" : "_one";
  const words = phrase(`river.without_cut${one}${MISREAD.test(query.word.trim()) ? "_word" : ""}`, {
    query: queryMark(query),
    key: keyMark(keyNameOf(facts, edge)),
  });
  const attrs = { class: "link", type: "button", tabindex: -1 }; // for the pointer: in the picture, Delete does the same
  const cut = h("button", { ...attrs, dataset: { testid: "cut-looks", lights: "" } }, words);
  const rises = sourceOf(facts)?.key === edge.key ? "yet_rises" : "without_rises"; // each edge lowers it; together they may not
  return cutWords(`river.${deciding.p < start.p ? "without" : rises}`, cut, {
    answer: answerMark(facts.answers[0]),
    p: briefPercent(deciding.p),
  });
}

/** A finished translation shows END, for which no edge matters; where its words come from is shown at one of them. @param {Facts} facts */
const isEnded = (facts) =>
  isTranslation(facts) && facts.names[0].length > 1 && Boolean(facts.answers[0].token?.special);

/** One head, in a sentence. @param {NonNullable<ReturnType<typeof import("../layout/heads.js").previewOf>>} shown @returns {Words} */
export const previewWords = ({ head: { layer, head }, writes, query: name, key: looked, weight }) =>
  phrase(writes ? "river.head_writes" : "river.head", {
    layer,
    head,
    query: queryMark(name),
    key: keyMark(looked),
    p: shareBetween(weight),
  });
