/** The composition of a logit: everything that was written to the residual stream, projected onto one answer. */

import { answeringStack, attentionOf, attentionsOf, fillsMask, isCross } from "../../../model/description.js";
import { labelName, tokenName } from "../../../model/labels.js";
import { sum } from "../../../model/matrix.js";
import { rowOf } from "../../../model/selection.js";
import { h, perRoot, replace } from "../../../ui/dom.js";
import { checkOf, signed, significant } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import { className } from "../../../ui/token_text.js";
import {
  at,
  buildExplanation,
  drawKeyFigures,
  drawSays,
  drawSentence,
  drawTitle,
  tokenInRole,
  value,
} from "../parts.js";

/**
 * @import { FetchedTrace } from "../../../data/model_trace.js"
 * @import { Model } from "../../../model/description.js"
 * @import { State } from "../../../state/store.js"
 * @import { Actions, FetchedDraw } from "../../view.js"
 */

/** How many terms are named; the others are one sum. */
const NAMED = 12;

const stepsOf = buildExplanation(["terms", "sum"]);
const elementsOf = perRoot((root) => {
  const parts = stepsOf(root);
  const choice = h("select", { "aria-label": t("inspector.logit_choose"), dataset: { testid: "answer-choice" } });
  const list = h("ol", { class: "contributions" });
  const rest = h("div", null, h("p", { class: "inspector-choice" }, t("inspector.logit_choose"), " ", choice));
  parts.figures.before(rest);
  parts.steps.terms.more.append(list);
  return { ...parts, choice, rest, terms: list };
});

/**
 * @typedef {ReturnType<typeof elementsOf>} Parts
 * @typedef {{part: string, value: number, attention: string|null, layer: number|null, head: number|null}} Term
 */

/** @type {FetchedDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  parts.rest.hidden = parts.more.hidden = parts.says.hidden = trace.explained.contributions === null;
  if (parts.rest.hidden) return drawNothing(parts, trace, state);
  const { answer, terms, logit, scales } = trace.explained.contributions;
  drawChoice(parts.choice, answersOf(trace, state), answer, ownOf(trace, state), actions);
  drawTitle(parts, "inspector.title_logit", aboutOf(trace, state));
  const ordered = /** @type {Term[]} */ ([...terms]).sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  drawSentence(parts.steps.terms, "inspector.logit_terms", { n: terms.length });
  drawInShort(parts, trace, state, { answer, logit }, ordered);
  drawTerms(parts.terms, ordered.slice(0, NAMED), ordered.slice(NAMED), trace, actions);
  const total = sum(ordered.map(({ value: one }) => one));
  drawSentence(
    parts.steps.sum,
    "inspector.logit_sum",
    { value: value(significant(total, 5)) },
    checkOf(total, logit, (one) => significant(one, 5)),
  );
  const held = /** @type {number[]} */ (Object.values(scales));
  replace(
    parts.note,
    t(held.length > 1 ? "inspector.logit_note_many" : "inspector.logit_note", {
      scale: significant(held.at(-1) ?? 1),
      n: held.length,
    }),
  );
}

/** The largest part in a sentence, and what heads, FFNs and everything else add: three numbers that make the logit. @param {Parts} parts @param {FetchedTrace} trace @param {State} state @param {{answer: number, logit: number}} of @param {Term[]} ordered */
function drawInShort(parts, trace, state, { answer, logit }, ordered) {
  const total = (/** @type {string[]} */ ...names) =>
    sum(ordered.filter(({ part }) => names.includes(part)).map(({ value: one }) => one));
  const [heads, ffns] = [total("head"), total("ffn")];
  const others = sum(ordered.map(({ value: one }) => one)) - heads - ffns;
  const name = new Map(answersOf(trace, state)).get(answer) ?? "";
  const [first] = ordered;
  const about = {
    part: wordOf(first, trace.model),
    amount: value(signed(first.value, 2)),
    logit: value(significant(logit, 4)),
  };
  drawSays(parts, phrase("inspector.says_logit", { ...about, answer: value(labelName(name)) }));
  drawKeyFigures(parts, [
    [t("inspector.figure_heads"), signed(heads, 3)],
    [t("inspector.figure_ffns"), signed(ffns, 3)],
    [t("inspector.figure_rest"), signed(others, 3)],
  ]);
}

/** A PAD was never trained to predict. @param {Parts} parts @param {FetchedTrace} trace @param {State} state */
function drawNothing(parts, trace, state) {
  drawTitle(parts, "inspector.title_logit", aboutOf(trace, state));
  drawKeyFigures(parts, []);
  parts.says.hidden = false;
  replace(parts.says, t("inspector.logit_pad"));
}

/** The options: the most likely tokens, or the classes. @param {FetchedTrace} trace @param {State} state @returns {[number, string][]} */
function answersOf(trace, state) {
  const { explained, classes, predictions } = trace;
  if (classes) return classes.map(({ name }, i) => [i, className(name)]);
  const listed = predictions[rowOf(state, trace)].candidates.map(
    (one) => /** @type {[number, string]} */ ([one.id, tokenName(one)]),
  );
  const { answer, tokens } = explained.contributions;
  return listed.some(([id]) => id === answer) ? listed : [[answer, tokenName(tokens[answer])], ...listed];
}

/** The model's first choice, which the state does not need to name. @param {FetchedTrace} trace @param {State} state */
function ownOf(trace, state) {
  const { classes, predictions } = trace;
  if (classes) return classes.reduce((best, { logit }, i) => (logit > classes[best].logit ? i : best), 0);
  return predictions[rowOf(state, trace)]?.candidates[0].id;
}

/** @param {HTMLSelectElement} choice @param {[number, string][]} answers @param {number} answer @param {number|undefined} own @param {Actions} actions */
function drawChoice(choice, answers, answer, own, actions) {
  replace(
    choice,
    answers.map(([id, label]) => h("option", { value: id, selected: id === answer }, label)),
  );
  choice.onchange = () => actions.set({ answer: Number(choice.value) === own ? null : Number(choice.value) });
}

/** @param {FetchedTrace} trace @param {State} state */
function aboutOf(trace, state) {
  if (fillsMask(trace.model)) return phrase("inspector.logit_at", { i: at(rowOf(state, trace)) });
  if (trace.written === null)
    return phrase("inspector.logit_class", { first: value(trace.model.special.first?.text ?? "[CLS]") });
  const row = rowOf(state, trace);
  return phrase("inspector.logit_after", { token: tokenInRole(trace.written.tokens, row, "q") });
}

/** Signed bars around a middle, the largest first. A head's bar opens the head. @param {HTMLElement} list @param {Term[]} named @param {Term[]} others @param {FetchedTrace} trace @param {Actions} actions */
function drawTerms(list, named, others, trace, actions) {
  const rest = sum(others.map(({ value: one }) => one));
  const reach = Math.max(...named.map(({ value: one }) => Math.abs(one)), Math.abs(rest)) || 1;
  const items = named.map((term) => {
    const open =
      term.part === "head"
        ? () =>
            actions.set({
              attention: term.attention,
              layer: /** @type {number} */ (term.layer),
              head: /** @type {number} */ (term.head),
            })
        : null;
    return item(wordOf(term, trace.model), term.value, reach, open);
  });
  replace(list, items, others.length ? item(t("inspector.logit_rest", { n: others.length }), rest, reach, null) : null);
}

/** @param {string} name @param {number} amount @param {number} reach @param {(() => void)|null} open */
function item(name, amount, reach, open) {
  const share = `${(Math.abs(amount) / reach) * 50}%`;
  const bar = h("span", { class: amount < 0 ? "bar down" : "bar up", style: { width: share } });
  const label = open ? h("button", { type: "button", class: "link", on: { click: open } }, name) : name;
  return h(
    "li",
    { class: "contribution", dataset: { testid: "contribution", value: amount } },
    h("span", null, label),
    h("span", { class: "track", "aria-hidden": true }, bar),
    h("b", { class: "mono" }, signed(amount, 3)),
  );
}

/** A term in words: "layer 2 · head 1". @param {Term} term @param {Model} model */
function wordOf(term, model) {
  const several = attentionsOf(model).length > 1;
  const where = several && term.layer !== null ? t(`inspector.stack_${stackWord(term, model)}`) : "";
  const part = term.part === "norm_bias" && term.layer !== null ? "norm_bias_layer" : term.part;
  const name = t(`inspector.part_${part}`, { layer: term.layer ?? 0, head: term.head ?? 0 });
  return where ? t("inspector.in_stack", { stack: where, part: name }) : name;
}

/** All terms are of the stack that answers. Cross-attention has its own text. @param {Term} term @param {Model} model */
const stackWord = ({ attention }, model) =>
  attention !== null && isCross(attentionOf(model, attention)) ? attention : answeringStack(model).id;
