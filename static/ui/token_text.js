/** Tokens, classes and predictions in words: a token's text as nodes (marks and bytes are lighter than the typed text), its name in a sentence. */

import {
  capOf,
  capsIn,
  isPiece,
  labelName,
  offeredAfter,
  partText,
  quotesAround,
  textOf,
  tokenLabel,
  tokenName,
  tokenParts,
} from "../model/labels.js";
import { patchLabelled } from "../model/patches.js";
import { actualNext } from "../model/sides.js";
import { h } from "./dom.js";
import { briefPercent, integer, number, percent } from "./format.js";
import { t } from "./i18n.js";
import { patchMark, patchPicture } from "./patch_picture.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Token } from "../model/labels.js"
 * @import { Side } from "../model/sides.js"
 */

// Texts about a prediction. No DOM: strings of the catalogue and their variables.

/** How many tokens identify a place in the text. */
const TAIL = 3;

/**
 * The last tokens of the text up to `index`: "… and said".
 * @param {Side} side @param {number} index
 */
function tailOf({ tokens, real }, index) {
  const start = index < real.start ? 0 : real.start; // PADs are left out, except in their own rows
  const from = Math.max(start, index + 1 - TAIL);
  const tail = tokens.slice(from, index + 1);
  const broken = tail.some((token) => token.partial || token.special);
  const text = broken ? tail.map(tokenLabel).join("") : textOf(tail);
  const words = text.replace(/^[\s,.;:!?]+/, "").trimEnd() || tail.map(tokenLabel).join("");
  return from > start ? `… ${words}` : words;
}

/** "row 10 predicts token 11, after “… and said”". @param {ModelTrace} trace  of a model that writes @param {number} query */
export function predictionPlace(trace, query) {
  const written = /** @type {Side} */ (trace.written);
  const key = written.side === "target" ? "next.where_target" : "next.where";
  return t(key, { row: query, next: query + 1, text: tailOf(written, query) });
}

/**
 * The actual next token after the prediction's row: its rank and probability before the settings.
 * Outside the list, only a bound on its probability is known.
 * @param {ModelTrace} trace  of a model that writes @param {any} prediction
 * @returns {{token: Token, key: string, vars: Record<string, string|number>}|null}
 */
export function actualOf({ written }, { position, candidates }) {
  const side = /** @type {Side} */ (written);
  const token = actualNext(side, position);
  const goesOn = side.side === "target" ? "next.actual_target" : "next.actual";
  if (!token) return null;
  const rank = candidates.findIndex((/** @type {Token} */ { id }) => id === token.id);
  if (rank >= 0) {
    const { before } = candidates[rank];
    return { token, key: goesOn, vars: { rank: rank + 1, before: briefPercent(before) } };
  }
  return { token, key: `${goesOn}_far`, vars: { n: candidates.length, before: percent(candidates.at(-1).before) } };
}

/** Text about the tokens that the list does not show, and which setting excluded how much. @param {any} model @param {any} prediction @param {number} limit */
export function restOf(model, { candidates, n_kept, masses_cut, settings }, limit) {
  if (settings.temperature === 0) return t("next.greedy");
  const more = n_kept - candidates.slice(0, limit).filter((/** @type {{kept: boolean}} */ { kept }) => kept).length;
  const cut = model.vocab_size - model.never_sampled.length - n_kept;
  const key = cut === 0 ? "next.rest_uncut" : more === 0 ? "next.rest_all" : "next.rest";
  const of = Object.entries(/** @type {Object<string, number>} */ (masses_cut)).filter(([, mass]) => mass > 0);
  const nameOf = (/** @type {string} */ by) => (by === "banned" ? t("generation.banned") : by.replace("_", "\u2011"));
  const parts = of.map(([name, mass]) => `${nameOf(name)} ${percent(mass)}`).join(" + ");
  const by = of.length > 0 && h("span", { title: t("next.rest_by", { parts }) }, ` (${parts})`);
  return h("span", null, t(key, { more: integer(more), cut: integer(cut) }), by);
}

/** “ in UTF-8, read as Windows-1252, is â€œ: its beginning, and what can only follow one. "€" alone is a euro. */
const [GARBLED, REST_OF_GARBLED] = [/^ ?â(€[œ™]?)?$/, /^(€[œ™]?|[œ™])$/];

/**
 * What a token is, if not a word: a part of one or of a character, a new line, a full stop, a comma, a quotation mark.
 * @param {Parameters<typeof tokenName>[0]} token @param {{text: string, special: boolean}} before
 */
export function kindOfToken({ text, partial, special }, before) {
  if (partial) return t("token_kind.bytes");
  if (special) return null;
  if (/^\s*\n/.test(text)) return t("token_kind.newline");
  if (/^ ?[.。]$/.test(text)) return t("token_kind.stop");
  if (/^ ?[,、]$/.test(text)) return t("token_kind.comma");
  if (/^ ?"$/.test(text)) return t("token_kind.quote");
  if (/^ ?[“„«「『‘]$/.test(text)) return t("token_kind.opening");
  if (/^ ?[”»」』]$/.test(text)) return t("token_kind.closing");
  if (/^ ?['’]$/.test(text)) return t("token_kind.apostrophe");
  if (GARBLED.test(text) || (REST_OF_GARBLED.test(text) && /â€?$/.test(before?.text ?? "")))
    return t("token_kind.garbled");
  const piece = isPiece({ text, partial, special }, before);
  return piece ? t("token_kind.piece", { word: `${before.text.trim()}${text}` }) : null;
}

/** How many equally likely tokens would be as uncertain; the tooltip has H in bits. @param {any} prediction */
export function unsureOf({ entropy_bits }) {
  const title = t("next.entropy_about", { bits: number(entropy_bits, 2) });
  return h("span", { title }, t("next.entropy", { like: number(2 ** entropy_bits, 1) }));
}

const KNOWN = ["negative", "positive"];

/** A class that is not in the catalogue keeps the model's name. @param {string} name */
export const className = (name) => (KNOWN.includes(name) ? t(`classes.${name}`) : name);

const CLASSES = { text: null, mark: "token-mark", byte: "token-byte" };

/** @param {Parameters<typeof tokenParts>[0]} token @returns {Node[]} */
export function tokenText(token) {
  if ("patch" in token && token.patch) return [patchPicture(/** @type {any} */ (token).patch)];
  return tokenParts(token).map(({ kind, text }) => h("span", { class: CLASSES[kind], translate: "no" }, text));
}

/** A punctuation mark in a box: alone it would be a speck. @param {string} open @param {string} mark @param {string} close */
const keyCap = (open, mark, close) =>
  h(
    "span",
    { class: "key-cap", translate: "no" },
    h("span", { class: "token-quote" }, open),
    mark,
    h("span", { class: "token-quote" }, close),
  );

/** A name as nodes: of a punctuation mark its box, and its number; of a patch its picture. @param {string} name @returns {(Node|string)[]} */
export function nameNodes(name) {
  const [cap, patch] = [capOf(name), patchLabelled(name)];
  if (patch) return [patchMark(patch)];
  return cap ? [keyCap(cap.open, cap.mark, cap.close), cap.nth] : [name];
}

/** A text that names punctuation marks, each in its box. @param {string} text @returns {(Node|string)[]} */
export const boxedText = (text) => capsIn(text).flatMap(nameNodes);

/** A token that is offered: punctuation in a key cap, of a part of a character what can be read. @param {Parameters<typeof tokenText>[0] & Parameters<typeof quotesAround>[0] & {piece?: boolean}} token @returns {Node[]} */
export function offeredText(token) {
  const quotes = quotesAround(token);
  if (quotes) return [keyCap(quotes[0], token.text.trim(), quotes[1])];
  const name = token.partial ? partText(token) : token.piece ? tokenName(token) : null;
  return name === null ? tokenText(token) : [h("span", { translate: "no" }, name)];
}

/** A token that could stand after `before`: a piece that goes on with the word there has its mark, and a tip that says so. @param {any} token @param {any} before */
export const couldFollow = (token, before) =>
  h(
    "span",
    { title: before && isPiece(token, before) ? kindOfToken(token, before) : null },
    nameNodes(tokenName(offeredAfter(token, before))),
  );

/**
 * A token named in a sentence, as read; `role` ("q", "k") colours it, `index` is its position.
 * @param {Parameters<typeof tokenName>[0]} token @param {string} [role] @param {number} [index]
 */
export function namedToken(token, role = "", index) {
  const at = index === undefined ? null : h("small", { class: "dim" }, ` ${index}`);
  return h("b", { class: `mono token-name ${role}`, translate: "no" }, nameNodes(tokenName(token)), at);
}

/** A token in a table or a list, with the marks of its spaces. @param {Parameters<typeof tokenParts>[0]} token */
export const listedToken = (token) => h("b", { class: "mono token-name", translate: "no" }, tokenText(token));

/** A name in a sentence for a label that a matrix already has. @param {string} label @param {string} role */
export const namedLabel = (label, role) =>
  h("b", { class: `${role} mono`, translate: "no" }, nameNodes(labelName(label)));
