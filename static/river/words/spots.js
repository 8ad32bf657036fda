/**
 * What the sentence says of the open place: of a head its chosen weight, of an FFN what it did to the chosen token's stream and to the
 * answer, of the embedding what the token begins as; and how the last token came.
 */

import { leakOfRow, openSquare } from "../../model/compare/measure.js";
import { answeringStack, attentionOf, can, stackOf } from "../../model/description.js";
import { namesOf, nameText, tokenName } from "../../model/labels.js";
import { indexOfMost, lengthOf, rowIn, sum } from "../../model/matrix.js";
import { position } from "../../model/selection.js";
import { h } from "../../ui/dom.js";
import { briefPercent, integer, number, signed } from "../../ui/format.js";
import { layerTitle } from "../../ui/heads.js";
import { phrase, t } from "../../ui/i18n.js";
import { nameNodes } from "../../ui/token_text.js";
import { drawOf, takenBy } from "../../views/generation/draw_bar.js";
import { writerOf } from "../../views/generation/player.js";
import { placeOf } from "../../views/places.js";
import { answerMark, answerName, keyMark, keyNameOf, queryMark } from "./names.js";

/**
 * @import { Detail, ModelTrace, Prediction } from "../../data/model_trace.js"
 * @import { Name } from "../../model/labels.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../../views/view.js"
 * @import { Answer, Facts } from "../facts.js"
 * @import { HeadSaid, Words } from "./sentence.js"
 */

// A head.

/** The chosen weight of the open head, as an edge in all heads of its layer or in this one. @param {ModelTrace} trace @param {State} state @param {boolean} [alone] */
export function edgeOf(trace, state, alone = false) {
  const { query, key } = position(state, trace);
  const { id, keys } = trace.attention;
  return { attention: id, layer: state.layer, query, key, keys, ...(alone ? { head: state.head } : {}) };
}

/**
 * The weight of the chosen cell, as the matrix has it (null: it is not here yet, or no weight), whether a mask hides it, what it was
 * with the masks as in training (null: not here, or it had other cells, without PADs), the key with the most weight of its row, and how
 * much of the row's weight is on later tokens, and whether its q and its k are others than in training.
 * @param {ModelTrace} trace @param {State} state
 */
export function weightOf(trace, state) {
  const { detail, detailBefore, attention } = trace;
  const { query, key } = position(state, trace);
  const { layer, head } = state;
  const of = (/** @type {Detail|null} */ one) =>
    one?.overview && one.attention === attention.id && one.layer === layer && one.head === head ? one : null;
  const [now, before] = [of(detail), of(detailBefore)];
  const row = now && rowIn(now.overview, query);
  if (!now || !row) return { weight: null, masked: false, was: null, most: null, later: null, vectors: null };
  const alike = before?.overview.data.length === now.overview.data.length;
  const was = before &&
    alike && { weight: rowIn(before.overview, query)[key], masked: Boolean(rowIn(before.mask, query)[key]) };
  const most = indexOfMost(row);
  return {
    weight: row[key] ?? null,
    masked: Boolean(rowIn(now.mask, query)?.[key]),
    was: was || null,
    most: { key: most, weight: row[most] },
    later: laterOf(trace, now, query),
    vectors: alike && before?.q && now.q && now.k ? vectorsOf(now, before, query, key) : null,
  };
}

/** A vector that changed by a smaller share of its length is the same up to rounding. */
const SAME = 1e-3;

/** @param {Detail} now @param {Detail} before @param {number} query @param {number} key */
function vectorsOf(now, before, query, key) {
  const moved = (/** @type {"q"|"k"} */ role, /** @type {number} */ row) => {
    const [is, was] = [now, before].map((one) => rowIn(one[role], row));
    return (
      lengthOf(is.map((/** @type {number} */ one, /** @type {number} */ i) => one - was[i])) > SAME * lengthOf(was)
    );
  };
  return { q: moved("q", query), k: moved("k", key) };
}

/** A share that is less is written as 0. */
const SOME = 0.005;

/** How much of its weight the chosen row has on later tokens; null: none. @param {ModelTrace} trace @param {Detail} detail @param {number} query */
function laterOf(trace, detail, query) {
  if (trace.attention.queries !== trace.attention.keys) return null;
  const share = leakOfRow(openSquare(trace, detail), query).future;
  return share >= SOME ? share : null;
}

// Other places.

/**
 * @typedef {{at: "ffn", token: Name, stack: string, layer: number, ratio: number|null, waits: boolean,
 *   adds: {answer: Answer, value: number}|null, off: {answer: Answer, before: number, after: number}|null}} FfnSpot  `ratio`: the length of
 *   what it adds ÷ that of the stream before it; `adds`: to the logit of the answer, `waits`: which will come; `off`: the answer without it;
 *   null: it is not here
 * @typedef {{at: "embedding", token: Name, from: "row"|"patch"|"own", id: number, type: number|null, positions: string,
 *   position: number|null, scale: number|null}} EmbeddingSpot  `from`: a row of the table; a patch's pixels; a picture's special token has its own vector; `type`: null where the model has no token types
 * @typedef {{at: "token", token: Name, id: number, vocab: number}} TokenSpot
 * @typedef {{at: "residual", token: Name, lengths: number[]}} StreamSpot  `lengths`: of its vector before the first layer and after each
 * @typedef {{at: "prediction"}} PredictionSpot
 * @typedef {FfnSpot|EmbeddingSpot|TokenSpot|StreamSpot|PredictionSpot} Spot
 */

/** What there is to say of the open place; null: nothing but what the whole model says. @param {ModelTrace} trace @param {State} state @param {Facts} facts @returns {Spot|null} */
export function spotOf(trace, state, facts) {
  const { name } = placeOf(state);
  if (name === "prediction") return { at: name };
  if (name !== "ffn" && name !== "embedding" && name !== "residual") return null;
  const { model, queries } = trace;
  const { query } = position(state, trace);
  const token = namesOf(queries.tokens)[query];
  const stack = stackOf(model, attentionOf(model, state.attention));
  if (name === "ffn") return ffnSpot(trace, facts, { token, stack: stack.id, layer: state.layer, query });
  if (name === "residual") return streamSpot(trace, { token, stack: stack.id, query });
  const { positions, scale, roles } = stack.embedding;
  const { id, patch } = queries.tokens[query];
  const from = patch ? "patch" : model.picture ? "own" : "row";
  if (state.view === "tokens" && from === "row") return { at: "token", token, id, vocab: model.vocab_size };
  const type = roles.token_types ? (queries.tokenTypes?.[query] ?? 0) : null;
  return { at: name, token, from, id, type, positions, scale, position: queries.positionIds[query] };
}

/** null: its numbers are not here. @param {ModelTrace} trace @param {{token: Name, stack: string, query: number}} of @returns {StreamSpot|null} */
function streamSpot({ explained: { residual } }, { token, stack, query }) {
  const stream = residual?.streams?.find((/** @type {{stack: string}} */ one) => one.stack === stack);
  if (!stream) return null;
  return { at: "residual", token, lengths: stream.norm.map((/** @type {number[]} */ at) => at[query]) };
}

/** @param {ModelTrace} trace @param {Facts} facts @param {{token: Name, stack: string, layer: number, query: number}} of @returns {FfnSpot} */
function ffnSpot({ explained, model, ablations }, { rolled, waits }, { token, stack, layer, query }) {
  const river = rolled.find(({ river }) => river.stack === stack)?.river;
  const ratio = waits ? undefined : river?.ffn?.[layer * river.tokens + query];
  const found = explained.contributions;
  const answers = stack === answeringStack(model).id && can(model, "contributions");
  const known = answers && Array.isArray(found?.terms) && found.row === query;
  const pending = answers && found === undefined;
  const ours = known
    ? found.terms.filter((/** @type {any} */ term) => term.part === "ffn" && term.layer === layer)
    : [];
  const adds = ours.length
    ? { answer: answerIn(found), value: sum(ours.map((/** @type {any} */ one) => one.value)) }
    : null;
  const { start, found: parts } = ablations ?? { start: null, found: [] };
  const without = parts.find((one) => one.kind === "ffn" && one.stack === stack && one.layer === layer);
  const off = start && without ? { answer: answerIn(start), before: start.p, after: without.p } : null;
  return { at: "ffn", token, stack, layer, ratio: ratio ?? null, waits: pending, adds, off };
}

/** Whose logit or probability was measured. @param {{answer: number, tokens: Object<string, any>, classes: string[]}} found @returns {Answer} */
const answerIn = ({ answer: id, tokens, classes }) => ({
  ...{ id, p: 0 },
  ...(classes.length ? { token: null, name: classes[id] } : { token: tokens[id], name: null }),
});

/** In words; null: its numbers are not here. @param {Exclude<Spot, PredictionSpot>} spot @returns {Words|null} */
export function spotWords(spot) {
  if (spot.at === "ffn") return ffnWords(spot);
  if (spot.at === "embedding") return embeddingWords(spot);
  const token = queryMark(spot.token);
  if (spot.at === "token") return phrase("say.token", { token, id: spot.id, vocab: integer(spot.vocab) });
  const [first, last] = [spot.lengths[0], spot.lengths.at(-1) ?? 0].map((one) => number(one, 1));
  return phrase("say.residual", { token, first, last });
}

/** @param {FfnSpot} spot @returns {Words|null} */
function ffnWords({ token, stack, layer, ratio, waits, adds, off }) {
  if (ratio === null && !adds) return null;
  const words = { layer: layerTitle({ stack }, layer), token: queryMark(token) };
  if (waits) return phrase("say.ffn", words);
  if (!adds) return phrase("say.ffn_adds", { ...words, times: number(ratio ?? 0, 2) });
  const logit = {
    answer: answerMark(adds.answer),
    value: signed(adds.value, 2),
    others: off ? againstWords(adds, off) : "",
  };
  return [
    ...phrase("say.ffn_logit", { ...words, ...logit }),
    ...(off ? [h("span", { class: "tells" }, offWords(off))] : []),
  ];
}

/** The button that switches it off, and what that does. @param {NonNullable<FfnSpot["off"]>} off @returns {Words} */
function offWords({ answer, before, after }) {
  const attrs = { class: "link", type: "button", dataset: { testid: "ffn-off", off: "ffn" } };
  const cut = h("button", attrs, t("say.ffn_off"));
  const [was, p] = [before, after].map(briefPercent);
  const verb = p === was ? "without_stays" : after < before ? "without" : "without_rises";
  return phrase(`river.${verb}`, { cut, answer: answerMark(answer), p });
}

/** Why the answer may move against its own logit. @param {NonNullable<FfnSpot["adds"]>} adds @param {NonNullable<FfnSpot["off"]>} off */
function againstWords(adds, { before, after }) {
  if (briefPercent(before) === briefPercent(after) || adds.value > 0 === before > after) return "";
  return t(adds.value > 0 ? "say.ffn_helps_others" : "say.ffn_hurts_others");
}

/** @param {EmbeddingSpot} spot @returns {Words} */
function embeddingWords({ token, from, id, type, positions, position, scale }) {
  return phrase(`say.embedding_${from}`, {
    ...{ token: queryMark(token), row: id, scaled: scale === null || scale === 1 ? "" : ` × ${number(scale, 2)}` },
    type: type === null ? "" : t("say.token_type", { n: type }),
    position: t(`say.position_${position === null ? "none" : positions}`, { n: position ?? 0 }), // a PAD may have none
  });
}

// How the last token came.

/**
 * @typedef {{u: number|null, typed?: boolean, taken?: boolean, before: number, from: Prediction|null, settings: {temperature?: number}}} Draw
 * @typedef {{step: Draw|null, newest: boolean, kept: boolean, forked: boolean, other?: {first: any, n: number}|null, playing: boolean, blocked: boolean}} Written
 *   `step`: if this page drew it or the reader took it; `newest`: nothing was chosen, opened or changed since; `kept`: with it the text left another one, which is
 *   kept; `forked`: it did so here or earlier; `other`: another text goes on from here
 */

/** How the last token came, what comes next, and the button that shows the text beside another. @param {Facts} facts @param {Written & {step: Draw}} written @returns {Words} */
export function writtenWords({ names, row, written, answers, comes }, { step, kept, forked, other, playing, blocked }) {
  const name = names[0][row];
  const likelier = likelierOf(step);
  const drawn = likelier ? "step_unlikely" : "step";
  const byHand = step.taken ? (likelier ? "taken_unlikely" : "taken") : step.typed ? "typed" : "forced";
  const how = step.u === null ? byHand : drawn;
  const words = phrase(`say.${how}`, {
    token: h("b", { class: written ? "wrote" : "wrote q" }, nameNodes(nameText(name))), // of a translation, not what the chosen row writes
    p: briefPercent(step.before),
    likelier: likelier ? h("b", null, nameNodes(tokenName(likelier))) : "",
    most: briefPercent(likelier?.before ?? 0),
  });
  words.push(...nextWords(answers[0], comes ?? null, likelier !== null && !step.taken));
  return [...words, ...otherTextWords({ kept, forked, other, playing, blocked })];
}

/** The button that leads to the text which was left here, or that shows both. @param {Omit<Written, "step"|"newest">} written @returns {Words} */
export function otherTextWords({ kept, forked, other, playing, blocked }) {
  if (blocked || playing) return [];
  if (other) return [" ", otherButton(other)];
  return kept ? keptWords() : forked ? [" ", compareButton()] : [];
}

/**
 * Of the open place, in few words: what the sentence says there besides the token that was just written. [] of a place without a word more.
 * @param {Facts} facts @param {HeadSaid|null} head @param {Spot|null} spot @returns {Words}
 */
export function besideWritten(facts, head, spot) {
  if (head?.most) {
    const key = keyMark(keyNameOf(facts, { ...head.edge, key: head.most.key }));
    const words = { layer: head.layer, head: head.head, key, p: briefPercent(head.most.weight) };
    return phrase(facts.written ? "say.beside_head_writes" : "say.beside_head", words);
  }
  if (spot?.at === "ffn" && spot.adds) {
    const { adds, stack, layer } = spot;
    const words = { answer: answerMark(adds.answer), value: signed(adds.value, 2) };
    return phrase("say.beside_ffn", { ...words, layer: layerTitle({ stack }, layer) });
  }
  if (spot?.at === "embedding" && spot.from === "row") return [t("say.beside_embedding", { row: spot.id })];
  return [];
}

/** The likeliest next token, and the one that the draw will take instead. @param {Answer} answer @param {Answer|null} comes @param {boolean} again  whether it did so before */
function nextWords(answer, comes, again) {
  const words = { answer: answerMark(answer), next: briefPercent(answer.p) };
  if (!comes) return phrase("say.next", words);
  if (again) return phrase("say.next_unlikely", { ...words, ...comesIn(comes) });
  return [...phrase("say.next_most", words), ...comesWords(comes)];
}

/** @param {Answer} comes */
const comesIn = (comes) => ({ comes: h("b", null, nameNodes(answerName(comes))), share: briefPercent(comes.p) });

/** What the draw will take, where that is not the likeliest. @param {Answer|null} comes @returns {Words} */
export const comesWords = (comes) => (comes ? phrase("say.comes", comesIn(comes)) : []);

/** Shows the text beside the one that it parted from. */
function compareButton() {
  const attrs = {
    class: "link opens-drawer",
    type: "button",
    dataset: { testid: "compare-texts", focus: "compare-texts" },
  };
  return h("button", attrs, t("say.compare_texts"));
}

/** Goes to the text that was left after this one. @param {{first: any, n: number}} other */
function otherButton({ first, n }) {
  const attrs = { class: "link", type: "button", dataset: { testid: "other-text", focus: "other-text" } };
  return h("button", attrs, phrase("say.other_text", { token: h("b", null, nameNodes(tokenName(first))), n }));
}

/** What the model gave more than the token that was drawn; null: nothing, as far as it reads differently, or nothing was drawn. @param {Draw} step */
function likelierOf({ before, from, settings }) {
  if (settings.temperature === 0) return null; // a penalty or a ban may have passed over the likeliest
  const all = from?.candidates ?? [];
  const most = all.reduce((best, one) => (one.before > best.before ? one : best), { ...all[0], before });
  return briefPercent(most.before) === briefPercent(before) ? null : most;
}

/** That the text which was left is kept, and the button that shows both. @returns {Words} */
function keptWords() {
  return [h("span", { class: "opens-drawer" }, phrase("say.kept", { compare: compareButton() }))];
}

/**
 * What Step will write after the chosen token, if that is the last and the draw takes another one than the likeliest.
 * @param {{trace: ModelTrace, state: State, actions: Actions}} now @param {number} row @returns {Answer|null}
 */
export function comesOf({ trace, state, actions }, row) {
  const { written, file, model } = trace;
  if (row + 1 !== written?.real.end || row + 1 >= model.max_seq_len) return null;
  if (file !== null || state.lesson !== null || state.temperature === 0) return null;
  const { from, u } = drawOf(writerOf(actions).session, trace, state);
  const token = from && u !== null ? takenBy(from, u) : null;
  return token && { id: token.id, p: token.before, token: /** @type {any} */ (token), name: null };
}

/** How the chosen token came, if it is the last and this page drew it or left another text with it. @param {{trace: ModelTrace, actions: Actions}} now @param {number} row @returns {Written|null} */
export function writtenOf({ trace: { written }, actions }, row) {
  if (row + 1 !== written?.real.end) return null;
  const { session, player } = writerOf(actions);
  const ids = written.tokens.slice(written.real.start, written.real.end).map(({ id }) => id);
  const step = session.step(ids) ?? session.taken(ids) ?? null;
  const { lesson, drawer, tree, start } = actions.get();
  const fork = lesson === null ? session.fork() : null;
  const kept = fork?.at === session.here();
  const other = lesson === null && !start ? session.other() : null;
  if (!step && !kept && !other) return null;
  const compares = drawer === "generation" && tree.pair.length === 2; // they stand below already
  return {
    step,
    newest: session.isNewest(),
    kept: kept && !compares,
    forked: fork !== null && !compares,
    other,
    playing: player.doing === "play",
    blocked: session.blocked() !== null,
  };
}
