/** Prediction: row t's logits as probabilities of the token t+1, before and after the sampling settings. */

import { drawBarPicture } from "../../chart/bars/bar_picture.js";
import { cssColour } from "../../chart/theme.js";
import { answeringStack, normLetters, tiesEmbeddings } from "../../model/description.js";
import { tokenLabel, tokenName } from "../../model/labels.js";
import { rowOf } from "../../model/selection.js";
import { taken } from "../../model/written.js";
import { segment } from "../../ui/controls.js";
import { h, perRoot, replace, scrolling, setText } from "../../ui/dom.js";
import { integer, number, percent } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { math, mi, mn, mo, row, sub, transposedFormula } from "../../ui/mathml.js";
import { actualOf, namedToken, predictionPlace, restOf, tokenText, unsureOf } from "../../ui/token_text.js";
import { predictionState } from "../view_states.js";
import { drawCards } from "./cards.js";

/**
 * @import { Bars } from "../../chart/bars/bar_picture.js"
 * @import { ModelTrace, Prediction } from "../../data/model_trace.js"
 * @import { Model, ModelDetail } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 */

const elementsOf = perRoot((place) => {
  const parts = {
    cards: h("div", { class: "cards" }),
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
  replace(place, parts.cards, h("section", { class: "act" }, head, parts.formula, parts.picture, table));
  return parts;
});

/**
 * @param {{place: HTMLElement, aside: HTMLElement}} where  `aside`: beside the title
 * @param {ModelTrace} trace @param {State} state @param {Actions} actions
 */
export function draw({ place, aside }, trace, state, actions) {
  const parts = elementsOf(place);
  const query = rowOf(state, trace);
  const prediction = trace.predictions[query];
  const actual = actualOf(trace, prediction);
  const { axis } = predictionState.of(state);
  parts.axis.show(axis, (name) => actions.set(predictionState.patch({ axis: name })));
  const take =
    !trace.file && query + 1 < trace.model.max_seq_len
      ? (/** @type {number} */ id) => actions.set(taken(trace, state, query, id))
      : null;
  setText(aside, predictionPlace(trace, query));
  const said = saidOf(trace, prediction, actual);
  drawCards(parts.cards, trace, { prediction, actual: actual?.token.id ?? null, take, said }, actions);
  replace(parts.formula, formula(trace.model, query, state.temperature), legend(trace.model));
  drawBarPicture(parts.picture, barsOf(prediction, { actual, take, log: axis === "log", state }));
  replace(parts.body, rowsOf(prediction, actual, take));
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
  let sum = 0;
  return candidates.map((candidate, i) => {
    const { id, before, after, kept } = candidate;
    sum += after;
    const attrs = { class: "tok", type: "button", title: t("next.take_this"), on: { click: () => take?.(id) } };
    const name = h("button", attrs, tokenText(candidate));
    const sampled = kept ? [percent(after, 3), percent(sum, 2)] : [t("next.cut"), ""];
    const cells = [i + 1, name, id, percent(before, 3), ...sampled];
    const kind = [kept ? "" : "cut", id === actual?.token.id ? "actual" : ""].join(" ");
    const data = { testid: "candidate-row", id, before, after };
    return h(
      "tr",
      { class: kind, dataset: data },
      cells.map((cell, n) => h("td", { class: COLUMNS[n] }, cell)),
    );
  });
}
