/** The directions of a translator. For a model that translates both ways, the source's script decides. Pure. */

import { languageName, t } from "../../ui/i18n.js";

/** @typedef {[string, string]} Direction  from a language, to another */
/** @typedef {{directions?: Direction[]}} Translator */

/**
 * The script of a language, if it is not Latin. With script extensions, because the ー of コーヒー has no script itself.
 * @type {Object<string, RegExp>}
 */
const SCRIPTS = { ja: /[\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Han}]/u };

/** The direction in which a text is translated; null for a model that translates nothing, or whose languages are unknown. @param {Translator} model @param {string} text @returns {Direction|null} */
export function directionOf({ directions = [] }, text) {
  return directions.find(([from]) => isWrittenIn(text, from)) ?? directions[0] ?? null;
}

/** The way back, of a model that translates both ways. @param {Translator} model @param {Direction|null} direction @returns {Direction|null} */
export function wayBack({ directions = [] }, direction) {
  return directions.find(([from, to]) => from === direction?.[1] && to === direction[0]) ?? null;
}

/** Whether most of the letters are of the language's script. @param {string} text @param {string} language */
function isWrittenIn(text, language) {
  const letters = [...text].filter((character) => /\p{Letter}/u.test(character));
  const own = letters.filter((letter) => scriptOf(letter) === (language in SCRIPTS ? language : ""));
  return 2 * own.length > letters.length;
}

/** @param {string} letter */
const scriptOf = (letter) => Object.keys(SCRIPTS).find((language) => SCRIPTS[language].test(letter)) ?? "";

// The names of the sides of a translation: "source, English", or as they are seen, in two lines: "English".

/** @param {Translator} model @param {"source"|"target"} side @param {string} text  the source's */
const languageOf = (model, side, text) => directionOf(model, text)?.[side === "source" ? 0 : 1];

/** @param {Translator} model @param {"source"|"target"} side @param {string} text  the source's */
export function sideName(model, side, text) {
  const code = languageOf(model, side, text);
  const name = t(`sides.${side}`);
  return code ? t("target.side", { side: name, language: languageName(code) }) : name;
}

/** @param {Translator} model @param {"source"|"target"} side @param {string} text  the source's */
export function shortSideName(model, side, text) {
  const code = languageOf(model, side, text);
  return code ? languageName(code) : t(`sides.${side}`);
}
