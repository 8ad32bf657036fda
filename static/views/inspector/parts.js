/** The building blocks of all explanations: a title, a sentence, a few figures, and numbered steps behind a disclosure. */

import { tokenName } from "../../model/labels.js";
import { h, perRoot, replace } from "../../ui/dom.js";
import { phrase, t } from "../../ui/i18n.js";
import { withFormulas } from "../../ui/mathml.js";

/**
 * @import { Token, VocabularyToken } from "../../model/labels.js"
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
    parts.more.firstElementChild?.after(parts.title, parts.says, parts.figures);
    root.append(card, parts.more);
    return { ...parts, card };
  });

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
  return { title, says, figures, more, steps, list, note };
}

/** @param {Explained} parts @param {string} title @param {Child} about  of what it is */
export function drawTitle(parts, title, about) {
  replace(parts.title, h("span", { class: "nowrap" }, t(title)), " ", h("span", { class: "dim" }, about));
}

/** The explanation in one sentence. @param {Explained} parts @param {Child} words */
export function drawSays(parts, words) {
  replace(parts.says, words);
}

/** Names and numbers, one a row. @param {Explained} parts @param {[Child, string][]} rows */
export function drawKeyFigures(parts, rows) {
  replace(
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
  replace(
    step.line,
    withFormulas(phrase(key, vars)),
    more.map((one) => [" ", one]),
  );
}

/** An important number within a sentence. @param {string} text @param {string} [role] */
export const value = (text, role = "") => h("b", { class: `mono ${role}`.trim() }, text);

/** A token in the colour of its role. @param {VocabularyToken} token @param {string} role */
export const tokenInRole = (token, role) => h("b", { class: `mono ${role}` }, tokenName(token));

/** A token's position, in small type. @param {number} index */
export const at = (index) => h("small", null, String(index));
