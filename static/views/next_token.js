/**
 * Next token: row t predicts t+1. The most likely tokens of the whole vocabulary, before and after the sampling
 * settings.
 */

import { drawBars } from "../chart/bars/bars.js";
import { offeredAfter } from "../model/labels.js";
import { rowOf } from "../model/selection.js";
import { endsText, taken } from "../model/written.js";
import { h, perRoot, replace, setText } from "../ui/dom.js";
import { phrase, t } from "../ui/i18n.js";
import { actualOf, namedToken, predictionPlace, restOf, unsureOf } from "../ui/token_text.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Side } from "../model/sides.js"
 * @import { State } from "../state/store.js"
 * @import { Draw } from "./view.js"
 */

/** The ribbon's prediction station has more of them. */
const SHOWN = 6;

const elementsOf = perRoot((root) => {
  const parts = {
    where: h("span", { class: "dim", dataset: { testid: "next-where" } }),
    goesOn: h("p", { class: "goes-on", dataset: { testid: "next-actual" } }),
    bars: h("div"),
    rest: h("p", { class: "dim rest", dataset: { testid: "next-rest" } }),
    hint: h("p", { class: "dim hint" }),
  };
  const title = h("h2", null, h("span", { class: "nowrap" }, t("next.title")), parts.where);
  replace(root, title, parts.goesOn, parts.bars, parts.rest, parts.hint);
  return parts;
});

/** @type {Draw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const query = rowOf(state, trace);
  setText(parts.where, predictionPlace(trace, query));
  const prediction = trace.predictions[query];
  const actual = actualOf(trace, prediction);
  const full = query + 1 >= trace.model.max_seq_len;
  const ended = endsText(trace, query); // nothing follows
  parts.bars.hidden = parts.rest.hidden = ended;
  drawBars(parts.bars, {
    candidates: prediction.candidates
      .slice(0, actual ? SHOWN - 1 : SHOWN) // its line has the room of one
      .map((/** @type {any} */ one) => offeredAfter(one, trace.written?.tokens[query])), // named as in the dock
    actual: actual?.token.id ?? null,
    onTake: full || trace.file ? null : (id) => actions.set(taken(trace, state, query, id)),
  });
  replace(parts.rest, restOf(trace.model, prediction, actual ? SHOWN - 1 : SHOWN), h("br"), unsureOf(prediction));
  parts.goesOn.hidden = actual === null;
  if (actual) replace(parts.goesOn, goesOnWith(actual));
  replace(parts.hint, ended ? t("generation.end_of_text") : hintOf(trace, state, query));
}

/** @param {NonNullable<ReturnType<typeof actualOf>>} actual */
function goesOnWith({ token, key, vars }) {
  return phrase(key, {
    .../** @type {Record<string, string|number>} */ (vars),
    token: namedToken(token),
  });
}

/** What a click cannot do here, and remarks about this row. @param {ModelTrace} trace @param {State} state @param {number} query */
function hintOf(trace, state, query) {
  if (trace.file) return t("open.no_take");
  if (query + 1 >= trace.model.max_seq_len) return t("next.full", { n: trace.model.max_seq_len });
  if (trace.causal) return "";
  const isLast = query + 1 >= /** @type {Side} */ (trace.written).tokens.length;
  return h("span", { class: "note" }, t(isLast ? "next.not_causal_last" : "next.not_causal"));
}
