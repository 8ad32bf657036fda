/** How the next token's distribution moved: before and after, KL over the whole vocabulary, Δ log p of one token. */

import { klBits, logSoftmax } from "../../model/compare/measure.js";
import { comparisonOf, isBefore, masksChanged } from "../../model/compare/runs.js";
import { tokenName } from "../../model/labels.js";
import { rowOf } from "../../model/selection.js";
import { actualNext, inside } from "../../model/sides.js";
import { buildFold } from "../../ui/controls.js";
import { h, keepingFocus, perRoot, replace, scrolling, setText, shareCell, tableHead } from "../../ui/dom.js";
import { integer, number, percent, power, signed } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { namedToken, tokenText } from "../../ui/token_text.js";
import { compareState } from "../view_states.js";

/**
 * @import { Compared, ModelTrace, Prediction } from "../../data/model_trace.js"
 * @import { Tensor } from "../../data/wire.js"
 * @import { Token, VocabularyToken } from "../../model/labels.js"
 * @import { Side } from "../../model/sides.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 */

// Tokens with two bars each: their probability before, and after.

/** @typedef {{id: number, token: VocabularyToken, before: number, after: number}} Moved */

/**
 * @param {Moved[]} candidates
 * @param {number} chosen @param {(id: number) => void} choose
 */
function pairOfBars(candidates, chosen, choose) {
  const full = Math.max(...candidates.flatMap(({ before, after }) => [before, after]));
  const head = h(
    "div",
    { class: "dist-head" },
    h("span"),
    h("span"),
    h("span", { class: "is-before" }, t("matrix.before")),
    h("span", { class: "is-after" }, t("matrix.after")),
  );
  const items = candidates.map((candidate) => h("li", null, barRow(candidate, full, candidate.id === chosen, choose)));
  return h("div", { class: "dist two" }, head, h("ol", null, items));
}

/** @param {Moved} candidate @param {number} full @param {boolean} isChosen @param {(id: number) => void} choose */
function barRow({ id, token, before, after }, full, isChosen, choose) {
  const label = t("compare.choose", { token: tokenName(token), before: percent(before, 3), after: percent(after, 3) });
  const bar = (/** @type {string} */ name, /** @type {number} */ share) =>
    h("span", { class: `bar-${name}`, style: { width: `${(share / full) * 100}%` } });
  return h(
    "button",
    {
      class: "cand",
      type: "button",
      title: label,
      "aria-label": label,
      "aria-pressed": isChosen,
      dataset: { testid: "moved-candidate", focus: `candidate ${id}`, id, before, after },
      on: { click: () => choose(id) },
    },
    h("span", { class: "tokname" }, tokenText(token)),
    h("span", { class: "track", "aria-hidden": true }, bar("before", before), bar("after", after)),
    h("span", { class: "mono is-before" }, percent(before)),
    h("span", { class: "mono is-after" }, percent(after)),
  );
}

/** The number of most likely tokens of each run. */
const SHOWN = 6;
/** The server's probabilities are float32. */
const ROUNDING = 1e-6;

/**
 * @param {Element} root
 * @param {ModelTrace} trace
 * @param {State} state
 * @param {Actions} actions
 */
export function drawChangedNext(root, trace, state, actions) {
  const query = rowOf(state, trace);
  const where = h("span", { class: "dim" }, t("compare.next_where", { row: query }));
  const title = h("h3", null, t("compare.next"), " ", where);
  const { prediction } = /** @type {Compared} */ (trace.compared);
  const every = everyOf(root);
  if (root.firstChild !== every.next) replace(root, every.next, every.fold); // a classifier was shown here
  every.fold.ontoggle = () => drawEvery(every, trace, state, actions);
  drawEvery(every, trace, state, actions);
  if (!prediction) return replace(every.next, title, h("p", { class: "dim" }, t("compare.pad_next")));
  const moved = movedOf(trace, state, query);
  const [row, token] = compareState.of(state).token ?? [];
  const chosen = chosenOf(moved, nextIn(trace, query), row === query ? token : null);
  const choose = (/** @type {number} */ id) => actions.set(compareState.patch({ token: [query, id] }));
  const { kl, gap } = moved;
  const size = { bits: h("b", { class: "mono" }, number(kl, 4)), vocab: integer(trace.model.vocab_size) };
  const check = t(gap <= ROUNDING ? "compare.check" : "compare.check_failed", { gap: power(gap) });
  replace(
    every.next,
    title,
    h("p", { dataset: { testid: "kl", value: kl } }, phrase("compare.kl", size)),
    pairOfBars(moved.candidates, chosen.candidate.id, choose),
    h("p", { dataset: { testid: "logp", value: chosen.delta, id: chosen.candidate.id } }, logpWords(chosen)),
    h("p", { class: "dim", dataset: { testid: "softmax-check", gap } }, check),
  );
}

/** Both distributions at the chosen position, in float64 from the logits. @param {ModelTrace} trace @param {State} state @param {number} query */
function movedOf(trace, state, query) {
  const { before, after, prediction } = /** @type {Compared} */ (trace.compared);
  const { side } = /** @type {Side} */ (trace.written);
  const row = (/** @type {Compared["before"]} */ run, /** @type {number} */ at) =>
    logPOf(run, at, trace.model.never_sampled);
  const there = comparisonOf(state, trace.model).sides[side]?.at(query) ?? query;
  const [p, q] = isBefore(state) ? [row(before, query), row(after, there)] : [row(before, there), row(after, query)];
  const own = trace.predictions[query];
  const [was, is] = isBefore(state) ? [own, prediction] : [prediction, own];
  const gaps = [...gapsOf(was, p), ...gapsOf(is, q)];
  return { p, q, kl: klBits(p, q), gap: Math.max(...gaps), candidates: candidatesOf(was, is, p, q) };
}

// The same at every position: the token that really comes next, before and after.

/** @typedef {{row: number, token: Token, before: number, after: number}} NextChange */

/** How likely the actual next token of each position is in both runs, over the whole vocabulary. @param {ModelTrace} trace @param {State} state @returns {NextChange[]} */
function nextChanges(trace, state) {
  const written = /** @type {Side} */ (trace.written);
  const { before, after } = /** @type {Compared} */ (trace.compared);
  const aligned = comparisonOf(state, trace.model).sides[written.side];
  return written.tokens.flatMap((_, row) => {
    const token = actualNext(written, row);
    const there = aligned ? aligned.at(row) : row;
    if (!token || there === null || !inside(written.real, row)) return [];
    const [p, q] = isBefore(state) ? [row, there] : [there, row];
    const share = (/** @type {Compared["before"]} */ run, /** @type {number} */ at) =>
      Math.exp(logPOf(run, at, trace.model.never_sampled)[token.id]);
    return [{ row, token, before: share(before, p), after: share(after, q) }];
  });
}

const everyOf = perRoot(() => {
  const [said, body] = [h("p", { dataset: { testid: "every-said" } }), h("tbody")];
  const head = tableHead([t("compare.every_token"), t("matrix.before"), t("matrix.after")]);
  const table = scrolling(t("compare.every"), h("table", { class: "token-table" }, head, body));
  const fold = buildFold("every", t("compare.every"), said, table);
  const next = h("div", null);
  return { next, fold, said, body };
});

/** @param {ReturnType<typeof everyOf>} parts @param {ModelTrace} trace @param {State} state @param {Actions} actions */
function drawEvery({ fold, said, body }, trace, state, actions) {
  if (!fold.open) return; // every row is a softmax over the whole vocabulary
  const changes = nextChanges(trace, state);
  const worse = changes.filter(({ before, after }) => after < before).length;
  const loss = (/** @type {"before"|"after"} */ run) =>
    changes.reduce((sum, one) => sum - Math.log2(one[run]), 0) / Math.max(1, changes.length);
  const words = { worse, n: changes.length, before: number(loss("before"), 2), after: number(loss("after"), 2) };
  const trained = masksChanged(state, trace.model) && worse > changes.length / 2;
  setText(said, [t("compare.every_said", words), trained ? t("compare.every_trained") : ""].filter(Boolean).join(" "));
  const rows = changes.map(({ row, token, before, after }) => {
    const choose = h("button", { class: "link", type: "button", dataset: { focus: `every ${row}` } }, tokenText(token));
    choose.onclick = () => actions.set({ query: row, key: null });
    const data = { testid: "every-row", row, before, after };
    const cell = (/** @type {number} */ share) => shareCell(share, percent(share, 2));
    return h("tr", { dataset: data }, h("th", { scope: "row" }, choose), cell(before), cell(after));
  });
  keepingFocus(body, () => replace(body, ...rows));
}

/** @param {Compared["before"]} run @param {number} at @param {number[]} banned */
function logPOf({ logits }, at, banned) {
  const { data, shape } = /** @type {Tensor} */ (logits);
  return logSoftmax(data.subarray(at * shape[1], (at + 1) * shape[1]), banned);
}

/** The largest difference between the server's probabilities and those computed here. @param {Prediction} prediction @param {Float64Array} logP */
function gapsOf({ candidates }, logP) {
  return candidates.map(({ id, before }) => Math.abs(Math.exp(logP[id]) - before));
}

/** The most likely tokens of either run, by their probability before. @param {Prediction} was @param {Prediction} is @param {Float64Array} p @param {Float64Array} q */
function candidatesOf(was, is, p, q) {
  const both = [...was.candidates.slice(0, SHOWN), ...is.candidates.slice(0, SHOWN)];
  const byId = new Map(both.map((candidate) => [candidate.id, candidate]));
  const all = [...byId.values()].map((candidate) => withLogs(candidate, p, q));
  return all.sort((a, b) => b.logBefore - a.logBefore);
}

/** @param {VocabularyToken} token @param {Float64Array} p @param {Float64Array} q */
function withLogs(token, p, q) {
  const [logBefore, logAfter] = [p[token.id], q[token.id]];
  return { token, id: token.id, logBefore, logAfter, before: Math.exp(logBefore), after: Math.exp(logAfter) };
}

/** The token chosen here; otherwise the actual next token; otherwise the most likely before. @param {ReturnType<typeof movedOf>} moved @param {Token|null} actual @param {number|null} wish */
function chosenOf({ p, q, candidates }, actual, wish) {
  const wished = candidates.find(({ id }) => id === wish);
  const candidate = wished ?? (actual ? withLogs(actual, p, q) : candidates[0]);
  const isFirst = candidate.id === candidates[0].id;
  const note = candidate.id === actual?.id ? "compare.logp_actual" : isFirst ? "compare.logp_first" : null;
  return { candidate, note, delta: (candidate.logAfter - candidate.logBefore) / Math.LN2 };
}

/** The token that continues the text. @param {ModelTrace} trace  of a model that writes @param {number} row */
const nextIn = ({ written }, row) => actualNext(/** @type {Side} */ (written), row);

/** @param {ReturnType<typeof chosenOf>} chosen */
function logpWords({ candidate, note, delta }) {
  const token = namedToken(candidate.token);
  const shares = { before: percent(candidate.before, 2), after: percent(candidate.after, 2) };
  const words = phrase("compare.logp", { token, delta: h("b", { class: "mono" }, signed(delta, 3)), ...shares });
  return note ? [...words, h("span", { class: "dim" }, ` (${t(note)})`)] : words;
}
