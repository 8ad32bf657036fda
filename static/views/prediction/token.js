/** Prediction: row t's logits as probabilities of the token t+1, before and after the sampling settings. */

import { drawBarPicture } from "../../chart/bars/bar_picture.js";
import { cssColour } from "../../chart/theme.js";
import { answeringStack, normLetters, tiesEmbeddings } from "../../model/description.js";
import { offeredAfter, tokenLabel, tokenName } from "../../model/labels.js";
import { sum } from "../../model/matrix.js";
import { rowOf } from "../../model/selection.js";
import { taken } from "../../model/written.js";
import { segment } from "../../ui/controls.js";
import { h, newId, perRoot, replace, scrolling, setText, update } from "../../ui/dom.js";
import { integer, number, percent } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { math, mi, mn, mo, row, sub, transposedFormula } from "../../ui/mathml.js";
import { actualOf, namedToken, predictionPlace, restOf, tokenText, unsureOf } from "../../ui/token_text.js";
import { predictionState, showsAllTokens } from "../view_states.js";
import { drawCards } from "./cards.js";

/**
 * @import { Bars } from "../../chart/bars/bar_picture.js"
 * @import { ModelTrace, Prediction } from "../../data/model_trace.js"
 * @import { Model, ModelDetail } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 */

/** How many times as likely as the second token the first one is where, on a linear scale, nothing else could be seen. */
const FAR_AHEAD = 10;

/** On which scale the bars begin. @param {{before: number}[]} candidates  the most likely first */
export const scaleFor = ([first, second]) => (second && first.before > FAR_AHEAD * second.before ? "log" : "linear");

const elementsOf = perRoot((place) => {
  const section = h("section", { class: "act all-tokens", id: newId("all-tokens") });
  const attrs = { class: "btn", type: "button", "aria-controls": section.id, dataset: { testid: "all-tokens" } };
  const parts = {
    section,
    opens: false,
    cards: h("div", { class: "cards" }),
    all: h("button", attrs),
    axis: segment(t("next.axis"), ["linear", "log"], "axis", (name) => t(`next.axis_${name}`)),
    formula: h("div", { class: "formula" }),
    picture: h("div"),
    body: h("tbody"),
  };
  const head = h(
    "div",
    { class: "act-head" },
    h("h2", null, t("next.more")),
    h("span", { class: "grow" }),
    parts.axis.box,
  );
  const table = scrolling(t("next.title"), tableOf(parts.body));
  section.append(head, parts.formula, parts.picture, table);
  replace(place, parts.cards, section);
  return parts;
});

/**
 * @param {{place: HTMLElement, aside: HTMLElement}} where  `aside`: beside the title
 * @param {ModelTrace} trace @param {State} state @param {Actions} actions
 */
export function draw({ place, aside }, trace, state, actions) {
  const parts = elementsOf(place);
  const query = rowOf(state, trace);
  const found = trace.predictions[query];
  const before = trace.written?.tokens[query];
  const prediction = { ...found, candidates: found.candidates.map((one) => offeredAfter(one, before)) }; // named as in the dock
  const actual = actualOf(trace, prediction);
  const take =
    !trace.file && query + 1 < trace.model.max_seq_len
      ? (/** @type {number} */ id) => actions.set(taken(trace, state, query, id))
      : null;
  setText(aside, predictionPlace(trace, query));
  const said = saidOf(trace, prediction, actual);
  const of = { prediction, actual: actual?.token.id ?? null, take, said, all: parts.all };
  drawCards(parts.cards, trace, of, actions);
  drawAll(parts, trace, state, actions, { prediction, actual, take });
}

/**
 * All tokens: their bars and a table, opened from the card of the most likely ones.
 * @param {ReturnType<typeof elementsOf>} parts @param {ModelTrace} trace @param {State} state @param {Actions} actions
 * @param {{prediction: Prediction, actual: Actual, take: Take}} of
 */
function drawAll(parts, trace, state, actions, { prediction, actual, take }) {
  const isOpen = showsAllTokens(state);
  const { section, all } = parts;
  section.hidden = !isOpen;
  setText(all, t("next.all", { vocab: integer(trace.model.vocab_size) }));
  update(all, { "aria-expanded": isOpen });
  all.onclick = () => {
    parts.opens = !isOpen;
    actions.set(predictionState.patch({ all: !isOpen, axis: null }));
  };
  if (!isOpen) return;
  const axis = predictionState.of(state).axis ?? scaleFor(prediction.candidates);
  parts.axis.show(axis, (name) => actions.set(predictionState.patch({ axis: name })));
  replace(parts.formula, formula(trace.model, rowOf(state, trace), state.temperature), legend(trace.model));
  drawBarPicture(parts.picture, barsOf(prediction, { actual, take, log: axis === "log", state }));
  replace(parts.body, rowsOf(prediction, actual, take), restRow(prediction, trace.model));
  if (parts.opens) section.scrollIntoView({ block: "start" });
  parts.opens = false;
}

/**
 * p_{t+1} = softmax(LN(x_t) · W_Eᵀ / T): the unembedding is the embedding, where the model ties them.
 * @param {Model} model @param {number} query @param {number} temperature
 */
function formula(model, query, temperature) {
  const x = sub(mi("x"), mn(query));
  const { final_norm: norm } = answeringStack(model);
  const read = norm ? row(mi(normLetters(norm)), mo("("), x, mo(")")) : x;
  const table = model.description.logits.parameters.unembedding;
  const out = tiesEmbeddings(model) ? transposedFormula(sub(mi("W"), mi("E"))) : sub(mi("W"), mi("U"));
  const divided = temperature > 0 && temperature !== 1 ? [mo("/"), mn(number(temperature, 2).replace(/0$/, ""))] : [];
  return math(
    sub(mi("p"), mn(query + 1)),
    mo("="),
    mi("softmax"),
    mo("("),
    ...(table ? [read, out] : [mi("logits")]),
    ...divided,
    mo(")"),
  );
}

/** @param {ModelDetail} model */
function legend({ vocab_size }) {
  const names = ["before", "after"].map((name) => h("span", { class: `is-${name}` }, t(`next.${name}`)));
  const over = h("span", { class: "dim" }, t("next.over", { vocab: integer(vocab_size) }));
  return [over, h("span", { class: "grow" }), h("span", { class: "legend dist-head" }, names)];
}

/**
 * @typedef {ReturnType<typeof actualOf>} Actual
 * @typedef {((id: number) => void)|null} Take  what a click on a token does
 */

/**
 * @param {Prediction} prediction @param {{actual: Actual, take: Take, log: boolean, state: State}} how @returns {Bars}
 */
function barsOf({ candidates, position: query }, { actual, take, log, state }) {
  const words = (/** @type {Prediction["candidates"][number]} */ candidate) => {
    const { before, after, id } = candidate;
    const vars = { token: tokenName(candidate), id, before: percent(before, 3), after: percent(after, 3) };
    return t(candidate.kept ? "next.candidate" : "next.candidate_cut", vars);
  };
  return {
    label: t("next.picture", { row: query, next: query + 1 }),
    rows: candidates.map((candidate) => ({
      label: tokenLabel(candidate),
      hover: words(candidate),
      values: [candidate.before, candidate.after],
      marked: candidate.id === actual?.token.id,
    })),
    series: [
      { name: t("next.before"), colour: cssColour("--bar-pale") },
      { name: t("next.after"), colour: cssColour("--bar-solid") },
    ],
    log,
    onChoose: (index) => take?.(candidates[index].id),
    filename: `chumoku-prediction-${query + 1}-seed${state.seed}`,
  };
}

/** @param {ModelTrace} trace @param {Prediction} prediction @param {Actual} actual */
function saidOf(trace, prediction, actual) {
  const said = [
    actual && phrase(actual.key, { ...actual.vars, token: namedToken(actual.token) }),
    restOf(trace.model, prediction, prediction.candidates.length),
    unsureOf(prediction),
  ];
  return said.filter(Boolean).map((words) => h("span", { class: "sentence-like" }, words));
}

const COLUMNS = ["rank", "token", "id", "before", "after", "sum"];

/** @param {HTMLElement} body */
function tableOf(body) {
  const head = COLUMNS.map((name) => h("th", { scope: "col", class: name }, t(`next.column_${name}`)));
  return h("table", { class: "token-table candidates" }, h("thead", null, h("tr", null, head)), body);
}

/**
 * The same numbers as a table, with the running sum of `after`; it reaches 100 % where the rest is cut.
 * @param {Prediction} prediction @param {Actual} actual @param {Take} take
 */
function rowsOf({ candidates }, actual, take) {
  let total = 0;
  return candidates.map((candidate, i) => {
    const { id, before, after, kept } = candidate;
    total += after;
    const attrs = { class: "tok", type: "button", title: t("next.take_this"), on: { click: () => take?.(id) } };
    const name = h("button", attrs, tokenText(candidate));
    const sampled = kept ? [percent(after, 3), percent(total, 2)] : [t("next.cut"), ""];
    const cells = [i + 1, name, id, percent(before, 3), ...sampled];
    const kind = [kept ? "" : "cut", id === actual?.token.id ? "actual" : ""].join(" ");
    const data = { testid: "candidate-row", id, before, after };
    return tableRow({ class: kind, dataset: data }, cells);
  });
}

/** All other tokens of the vocabulary, in one row. @param {Prediction} prediction @param {ModelDetail} model */
function restRow({ candidates, n_kept: kept }, { vocab_size }) {
  const left = (/** @type {"before"|"after"} */ which) =>
    Math.max(0, 1 - sum(candidates.map((candidate) => candidate[which])));
  const n = vocab_size - candidates.length;
  const isCut = kept <= candidates.filter((one) => one.kept).length;
  const sampled = isCut ? [t("next.cut"), ""] : [percent(left("after"), 3), percent(1, 2)];
  const cells = ["", t("next.others", { n: integer(n) }), "", percent(left("before"), 3), ...sampled];
  return n > 0 && tableRow({ class: isCut ? "cut" : "", dataset: { testid: "candidates-rest" } }, cells);
}

/** @param {Object<string, any>} attrs @param {any[]} cells  in the order of COLUMNS */
const tableRow = (attrs, cells) =>
  h(
    "tr",
    attrs,
    cells.map((cell, n) => h("td", { class: COLUMNS[n] }, cell)),
  );
