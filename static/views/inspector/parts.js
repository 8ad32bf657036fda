/** The building blocks of all explanations: a title, a sentence, a few figures, and numbered steps behind a disclosure. */

import {
  attentionOf,
  can,
  has,
  identityOf,
  parameterOf,
  predictsTokens,
  stackOf,
  tapOf,
  wordOf,
} from "../../model/description.js";
import { isKnown } from "../../model/identities.js";
import { namesIn } from "../../model/labels.js";
import { featureOf } from "../../model/selection.js";
import { columnsOf } from "../../model/taps.js";
import { h, perRoot, replaceChanged, setText } from "../../ui/dom.js";
import { phrase, t } from "../../ui/i18n.js";
import { withFormulas } from "../../ui/mathml.js";
import { nameNodes } from "../../ui/token_text.js";
import { shownRole } from "../computation/steps.js";
import { openFfn } from "../ffn/data.js";

/**
 * @import { Model, Norm } from "../../model/description.js"
 * @import { Token } from "../../model/labels.js"
 * @import { State } from "../../state/store.js"
 * @import { Child } from "../../ui/dom.js"
 */

/**
 * @typedef {{line: HTMLElement, more: HTMLElement, item: HTMLElement}} Step
 * @typedef {{title: HTMLElement, says: HTMLElement, figures: HTMLElement, more: HTMLDetailsElement, list: HTMLElement,
 *   note: HTMLElement, steps: Object<string, Step>}} Explained  the elements of an explanation
 */

/**
 * The fixed parts of an explanation: steps keep their elements, so that bars keep their place under the pointer.
 * @param {string[]} names  of the steps @returns {(root: Element) => Explained}
 */
export const buildExplanation = (names) =>
  perRoot((root) => {
    const parts = partsOf(names, t("inspector.steps"));
    parts.more.open = true;
    root.append(parts.title, parts.says, parts.figures, parts.more);
    return parts;
  });

/**
 * The same under a card that says the most important (card.js): all of it is in the fold.
 * @param {string[]} names  of the steps @returns {(root: Element) => Explained & {card: HTMLElement}}
 */
export const buildCardAndSteps = (names) =>
  perRoot((root) => {
    const card = h("div", { class: "arithmetic", dataset: { testid: "arithmetic" } });
    const parts = partsOf(names, t("inspector.all_steps"));
    const steps = h("div", { class: "inspector-all" }, parts.title, parts.says, parts.figures, parts.list, parts.note);
    parts.more.append(steps);
    const summary = /** @type {Element} */ (parts.more.firstElementChild);
    parts.more.addEventListener("toggle", () => {
      setText(summary, t(parts.more.open && liesOver(steps) ? "inspector.in_short" : "inspector.all_steps"));
    });
    root.append(card, parts.more);
    return { ...parts, card };
  });

/** Whether the steps take the place of the card's lines: the same press brings these back. @param {Element} steps */
const liesOver = (steps) => getComputedStyle(steps).position === "absolute";

/** @param {string[]} names  of the steps @param {string} summary @returns {Explained} */
function partsOf(names, summary) {
  const title = h("h2", { dataset: { testid: "inspector-title" } });
  const says = h("p", { class: "inspector-says", dataset: { testid: "inspector-says" } });
  const figures = h("dl", { class: "figures" });
  const made = names.map((name) => {
    const step = { line: h("div", { class: "inspector-line" }), more: h("div", null) };
    return { name, step, item: h("li", { dataset: { step: name } }, step.line, step.more) };
  });
  const steps = Object.fromEntries(made.map(({ name, step, item }) => [name, { ...step, item }]));
  const items = made.map(({ item }) => item);
  const list = h("ol", { class: "inspector-steps" }, items);
  const note = h("p", { class: "dim inspector-note" });
  const more = h("details", { class: "inspector-more" }, h("summary", null, summary), list, note);
  more.addEventListener("toggle", () => showOpened(more));
  return { title, says, figures, more, steps, list, note };
}

/** What the window would cut begins at the top of its column, unless it lies in the card; the picture beside it stays where it is. @param {HTMLDetailsElement} more */
function showOpened(more) {
  const column = more.closest(".right");
  const steps = more.querySelector(".inspector-all");
  if (steps && liesOver(steps)) return steps.scrollTo(0, 0);
  if (!more.open || !column || column.scrollHeight <= column.clientHeight) return;
  column.scrollTop += more.getBoundingClientRect().top - column.getBoundingClientRect().top - ABOVE;
}

/** The room above its first line, in pixels. */
const ABOVE = 10;

/** @param {Explained} parts @param {string} title @param {Child} about  of what it is */
export function drawTitle(parts, title, about) {
  replaceChanged(parts.title, h("span", { class: "nowrap" }, t(title)), " ", h("span", { class: "dim" }, about));
}

/** The explanation in one sentence. @param {Explained} parts @param {Child} words */
export function drawSays(parts, words) {
  replaceChanged(parts.says, words);
}

/** Names and numbers, one a row. @param {Explained} parts @param {[Child, string][]} rows */
export function drawKeyFigures(parts, rows) {
  replaceChanged(
    parts.figures,
    rows.map(([name, value]) =>
      h(
        "div",
        null,
        h("dt", null, typeof name === "string" ? withFormulas(name) : name),
        h("dd", { class: "mono" }, value),
      ),
    ),
  );
}

/** One step in words. @param {Pick<Step, "line">} step @param {string} key @param {Object<string, any>} vars @param {...Child} more */
export function drawSentence(step, key, vars, ...more) {
  replaceChanged(
    step.line,
    withFormulas(phrase(key, vars)),
    more.map((one) => [" ", one]),
  );
}

/** An important number within a sentence. @param {string} text @param {string} [role] */
export const value = (text, role = "") => h("b", { class: `mono ${role}`.trim() }, text);

/** "red₂": a token in the colour of its role, numbered where its word comes again. @param {Token[]} tokens @param {number} index @param {string} role */
export const tokenInRole = (tokens, index, role) =>
  h("b", { class: role, translate: "no" }, nameNodes(namesIn(tokens)[index]));

/** A token's position, in small type. @param {number} index */
export const at = (index) => h("small", null, String(index));

// The tensors and parameters that the explanations read, known before their code is loaded. No DOM.

/** The open head's columns of W_O, which is not in a saved trace: there the step that needs it is left out. @param {State} state @param {Model} model @returns {string|null} */
export function outputOf({ attention: id, layer, head }, model) {
  const attention = attentionOf(model, id);
  const name = parameterOf(attention, layer, "w_o");
  return name && columnsOf(name, head * attention.d_head, (head + 1) * attention.d_head);
}

/** Whether what a key writes can be read as tokens: the attention belongs to the stack that predicts them. @param {State} state @param {Model} model */
export const writesWords = (state, model) =>
  state.file === null &&
  ["attention", "computation"].includes(state.view) &&
  predictsTokens(model) &&
  can(model, "contributions") &&
  attentionOf(model, state.attention).stack === model.description.logits.stack;

/** The LayerNorms of the open block, and the one after the last block: [word, norm]. @param {State} state @param {Model} model @returns {[string, Norm][]} */
export function openNorms(state, model) {
  const { embedding, layers, final_norm: last } = stackOf(model, attentionOf(model, state.attention));
  const own = layers[state.layer].sublayers
    .filter(({ norm }) => norm)
    .map((one) => /** @type {[string, any]} */ ([wordOf(model, one), one.norm]));
  const first = /** @type {[string, any][]} */ (embedding.norm ? [["start", embedding.norm]] : []);
  return [...own, ...first, .../** @type {[string, any][]} */ (last ? [["final", last]] : [])];
}

/** The role that the open station shows: that of the walk's step, else the overview, else what the attention adds to the stream. `feature`: the chosen one, where the station has one; otherwise any column may be. @param {State} state @param {Model} model */
export function shownRoleOf(state, model) {
  const attention = attentionOf(model, state.attention);
  const gated = state.view === "gate" && has(attention, "z") ? "z" : null;
  const role = shownRole(model, state) ?? gated ?? attention.overview ?? "attn_out";
  const feature = gated ? featureOf(state, attention) : null;
  return { attention, role, identity: identityOf(attention, role), feature };
}

/** What it is made of: roles are tensors of the run, all else parameters. @param {State} state @param {Model} model @returns {Object<string, ["tensor"|"weight", string]>} */
export function roleNames(state, model) {
  const { attention, role, identity } = shownRoleOf(state, model);
  const all = [role, ...(isKnown(identity) ? (identity?.of ?? []) : [])];
  const name = (/** @type {string} */ one) =>
    has(attention, one)
      ? ["tensor", tapOf(attention, state.layer, one)]
      : ["weight", parameterOf(attention, state.layer, one)];
  return Object.fromEntries(all.map((one) => [one, name(one)]).filter(([, [, found]]) => found));
}

/** The names of the tensors that an FFN reads and computes, and of its parameters: in the open layer and the stack of the open attention. @param {State} state @param {Model} model */
export function unitNames(state, model) {
  const { input, pre, post, up, parameters, place, activation, mixes } = openFfn(state, model);
  return {
    taps: { input, pre, post, ...(up === null ? {} : { up }) },
    weights: { w1: parameters.w_1, b1: parameters.b_1 ?? null, w2: parameters.w_2 },
    place,
    activation,
    mixes,
  };
}
