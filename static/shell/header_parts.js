/** The elements of the header. Language, type size and theme belong to the document: only the page that owns it has them. */

import { h } from "../ui/dom.js";
import { LANGUAGE_SIGNS, language, t } from "../ui/i18n.js";
import { buildLevelSwitch } from "./level_switch.js";

/** @param {boolean} owner */
export function buildHeader(owner) {
  const parts = {
    levels: buildLevelSwitch(),
    model: h("div", { class: "model", dataset: { part: "model" } }),
    tour: button("btn with-icon", { dataset: { testid: "lessons-button" } }),
    quiz: button("btn with-icon", { "aria-pressed": false, dataset: { testid: "quiz-button" } }),
    share: button("btn", { dataset: { part: "share", testid: "share" } }, t("header.share")),
    export: h(
      "div",
      { class: "export", dataset: { part: "export" } },
      button("btn", { dataset: { testid: "export" } }, t("export.button")),
    ),
    languages: owner ? Object.entries(LANGUAGE_SIGNS).map(languageLink) : [],
    type: owner ? icon("type", "header.large_type", "A⁺") : null,
    theme: owner ? icon("theme", "header.theme", "◐") : null,
    help: icon("help", "header.help", "?"),
  };
  const languages =
    owner && h("div", { class: "seg", role: "group", "aria-label": t("header.language") }, parts.languages);
  const brand = h("a", { class: "brand", href: "/" }, h("b", { lang: "ja" }, "注目"), "chumoku");
  const grow = h("span", { class: "grow" });
  const { model, tour, quiz, share, type, theme, help } = parts;
  const element = h(
    "header",
    null,
    brand,
    model,
    parts.levels.element,
    grow,
    tour,
    quiz,
    share,
    parts.export,
    languages,
    type,
    theme,
    help,
  );
  return { element, ...parts };
}

/** @param {string} name @param {object} attrs @param {...any} children @returns {HTMLButtonElement} */
const button = (name, attrs, ...children) => h("button", { class: name, type: "button", ...attrs }, ...children);

/** @param {string} name @param {string} title @param {string} sign */
const icon = (name, title, sign) =>
  button("btn icon", { "aria-label": t(title), title: t(title), dataset: { part: name, testid: name } }, sign);

/** @param {[string, string]} entry @returns {HTMLAnchorElement} */
function languageLink([code, sign]) {
  const on = code === language() ? { class: "on", "aria-current": "true" } : {};
  return h("a", { href: `/?lang=${code}`, hreflang: code, lang: code, dataset: { lang: code }, ...on }, sign);
}
