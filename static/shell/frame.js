/** The elements of the page, in order. Controls and panels are passed theirs; none looks one up. */

import { buildSide } from "../panels/heads/side.js";
import { h, newId, replace } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { buildHeader } from "./header_parts.js";
import { buildSentence } from "./sentence/parts.js";

/** @typedef {ReturnType<typeof buildFrame>} Frame */

/**
 * @param {HTMLElement} root  everything in it is replaced
 * @param {{owner: boolean}} options  `owner`: whether language, type size and theme of the document are chosen here
 */
export function buildFrame(root, { owner }) {
  const header = buildHeader(owner);
  const sentence = buildSentence();
  const side = buildSide();
  const files = h("section", { class: "files", "aria-label": t("open.title") });
  const welcome = h("section", { class: "welcome", role: "main", "aria-label": t("welcome.label"), hidden: true });
  const offer = h("div", { class: "tour-offer", dataset: { testid: "tour-offer" } });
  const ribbon = h("nav", { class: "ribbon", "aria-label": t("ribbon.label") });
  const opened = h("section", {
    ...{ class: "panel opened", id: newId("opened"), role: "tabpanel", tabindex: -1, "aria-busy": "true" },
    dataset: { panel: "opened" },
  });
  const help = h("dialog", { class: "help" });
  const panels = buildPanels(side.labels);
  const { quiz, classes, why, change, batch, generation, next_token: next } = panels;
  const right = h("div", { class: "right" }, classes, why);
  const main = h("main", null, h("div", { class: "columns" }, side.element, opened, right), change, batch);
  const skip = h("a", { class: "skip", href: `#${opened.id}` }, t("page.skip"));
  const foot = h("footer", null, generation, next);
  replace(root, skip, header.element, files, sentence.element, welcome, ribbon, quiz, main, foot, help);
  return { root, header, files, sentence, welcome, offer, ribbon, opened, side, panels, help };
}

/**
 * A place for each panel, by its id.
 * @param {HTMLElement} labels  of the heads, among these
 * @returns {Object<string, HTMLElement>}
 */
function buildPanels(labels) {
  /** @param {string} id @param {string} name @param {string} title @param {object} [more] */
  const panel = (id, name, title, more) =>
    h("section", { class: name, "aria-label": t(title), dataset: { panel: id }, ...more });
  const hidden = { hidden: true };
  return {
    labels,
    quiz: panel("quiz", "quiz-bar", "guess.button", hidden),
    classes: panel("classes", "panel classes", "classes.title", hidden),
    why: panel("why", "panel inspector", "why.title"),
    change: panel("change", "panel compare", "compare.title", hidden),
    batch: panel("batch", "panel batch", "batch.title", hidden),
    generation: panel("generation", "panel generation", "generation.title"),
    next_token: panel("next_token", "panel next", "next.title"),
  };
}
