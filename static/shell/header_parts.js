/** The elements of the header. Language, type size and theme belong to the document: only the page that owns it has them. */

import { h } from "../ui/dom.js";
import { LANGUAGE_SIGNS, language, t } from "../ui/i18n.js";
import { fullSign } from "./full_screen.js";
import { buildLevelSwitch } from "./level_switch.js";
import { buildMore } from "./more_menu.js";

/** @param {boolean} owner */
export function buildHeader(owner) {
  const parts = {
    levels: buildLevelSwitch(),
    model: h("div", { class: "model", dataset: { part: "model" } }),
    lessons: button("btn with-icon", { dataset: { testid: "lessons-button" } }),
    quiz: button("btn with-icon quiz-button", { "aria-pressed": false, dataset: { testid: "quiz-button" } }),
    share: button("btn", { dataset: { part: "share", testid: "share" } }, t("header.share")),
    export: h(
      "div",
      { class: "export", dataset: { part: "export" } },
      button("btn export-button", { dataset: { testid: "export" } }, t("export.button")),
    ),
    languages: owner ? Object.entries(LANGUAGE_SIGNS).map(languageLink) : [],
    type: owner ? icon("type", "header.large_type", "A⁺") : null,
    theme: owner ? icon("theme", "header.theme", "◐") : null,
    full: owner ? icon("full-page", "full.button", fullSign()) : null,
    help: icon("help", "header.help", "?"),
  };
  const languages =
    owner && h("div", { class: "seg", role: "group", "aria-label": t("header.language") }, parts.languages);
  const brand = h("a", { class: "brand", href: "/" }, h("b", { lang: "ja" }, "注目"), "chumoku");
  const grow = h("span", { class: "grow" });
  const { model, levels, lessons, quiz, share, type, theme, full, help } = parts;
  const more = buildMore([quiz, parts.export, full, type, theme, help], [quiz, full, help]);
  const element = h("header", null, brand, model, levels.element, grow, lessons, share, languages, more.element);
  return { element, ...parts, more };
}

/** @param {string} name @param {object} attrs @param {...any} children @returns {HTMLButtonElement} */
const button = (name, attrs, ...children) => h("button", { class: name, type: "button", ...attrs }, ...children);

/**
 * A sign alone, or in the menu with its words beside it.
 * @param {string} name @param {string} title @param {string|Node} sign
 */
function icon(name, title, sign) {
  const attrs = { "aria-label": t(title), title: t(title), dataset: { part: name, testid: name } };
  return button("btn icon", attrs, h("span", { class: "sign-text" }, sign), h("span", { class: "word" }, t(title)));
}

/** The page's own language is not a link. @param {[string, string]} entry @returns {HTMLAnchorElement} */
function languageLink([code, sign]) {
  const own = code === language() ? { class: "on", "aria-current": "true" } : { href: `/?lang=${code}` };
  return h("a", { hreflang: code, lang: code, dataset: { lang: code }, ...own }, sign);
}
