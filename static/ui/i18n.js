/** The page's texts: one flat catalogue per language, static/i18n/<lang>.json, shared with the templates; and names of languages. */

/** @type {Object<string, string>} */
let catalogue = {};

/** The languages with a catalogue, as the header writes them. */
export const LANGUAGE_SIGNS = { en: "EN", ja: "日本語" };

/** @type {boolean|undefined} */
let finger;

/** Whether the pointer is a finger, which taps. Asked once. */
const taps = () => {
  finger ??= globalThis.matchMedia?.("(pointer: coarse)").matches ?? false;
  return finger;
};

/** How a text calls what a pointer does: a finger taps. @param {string} text @param {boolean} [tapping] */
export function forPointer(text, tapping = taps()) {
  if (!tapping) return text;
  return text
    .replaceAll("クリック", "タップ")
    .replace(/\b(c)lick(s?)\b/gi, (_, c, s) => (c === "C" ? "Tap" : "tap") + s)
    .replace(/\bclick(ed|ing)\b/g, "tapp$1");
}

/**
 * How a text calls what stands out: on dark paper it is brighter, not darker.
 * @param {string} text @param {boolean} [dark]  the theme
 */
export function forTheme(text, dark = document.documentElement.dataset?.theme === "dark") {
  if (!dark) return text;
  return text
    .replaceAll("濃", "明る")
    .replaceAll("薄い", "暗い")
    .replace(/\b([dD])ark(er|est)\b/g, (_, d, end) => (d === "D" ? "Bright" : "bright") + end)
    .replace(/\bdark (line|left edge)\b/g, "bright $1")
    .replace(/\bpaler\b/g, "darker");
}

/** @typedef {"en"|"ja"} Language */

/** Another language, while something is said in it. @type {{language: Language, texts: Object<string, string>}|null} */
let other = null;
/** @type {Map<Language, Promise<Object<string, string>>>} */
const catalogues = new Map();

/** The page's language, as the server rendered it. @returns {Language} */
export function language() {
  return other?.language ?? languageOfPage();
}

/** @returns {Language} */
function languageOfPage() {
  return document.documentElement.lang === "ja" ? "ja" : "en";
}

/** Texts that a saved file brings. @param {Object<string, string>} texts */
export function useCatalogue(texts) {
  catalogue = texts;
}

/** Fetches the catalogue of the page's language, once, before anything is drawn. */
export async function loadCatalogue() {
  catalogue = await fetchCatalogue(language());
}

/** @param {Language} language @returns {Promise<Object<string, string>>} */
async function fetchCatalogue(language) {
  const answer = await fetch(`static/i18n/${language}.json`);
  if (!answer.ok) throw new Error(`no catalogue for ${language}: ${answer.status}`);
  return answer.json();
}

/**
 * What is said in a language of the page, for somebody who reads another than this page's.
 * @template T @param {Language} language @param {() => T} say  is done when it returns: nothing is awaited in it @returns {Promise<T>}
 */
export async function inLanguage(language, say) {
  if (language === languageOfPage()) return say();
  const coming = catalogues.get(language) ?? fetchCatalogue(language);
  catalogues.set(language, coming);
  coming.catch(() => catalogues.delete(language));
  other = { language, texts: await coming };
  try {
    return say();
  } finally {
    other = null;
  }
}

/** The catalogue in which something is said now. */
const textsNow = () => other?.texts ?? catalogue;

/** Words that a phone leaves out of a sentence (`.roomy`, css/layout.css), as the catalogue marks them. */
const ROOMY = /\[\[([^\]]*)\]\]/g;

/**
 * The string `key` with `{name}` filled in. With `{n: 1}`, uses the string `key.one` if the catalogue has it; for a finger, `key.touch`;
 * of a picture: `keyFor`.
 * @param {string} key
 * @param {Object<string, string|number>} [vars]
 * @returns {string}
 */
export function t(key, vars = {}) {
  const text = patternOf(key, vars.n).replace(ROOMY, "$1");
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in vars ? String(vars[name]) : whole));
}

/** The string before anything is filled in. @param {string} key @param {unknown} n  1, or "1" as the page writes it */
function patternOf(key, n) {
  const texts = textsNow();
  const text = (taps() && texts[`${key}.touch`]) || (String(n) === "1" && texts[`${key}.one`]) || texts[key];
  if (text === undefined) console.warn(`no string "${key}" in ${language()}.json`);
  return forTheme(forPointer(text ?? key));
}

/**
 * The key of a text that speaks of a sentence: for a model that reads pictures `key.picture`, where the catalogue has it.
 * @param {{picture?: unknown}|null|undefined} model  null: none is chosen yet @param {string} key
 */
export const keyFor = (model, key) => (model?.picture && hasString(`${key}.picture`) ? `${key}.picture` : key);

/** Whether the catalogue has `key`. @param {string} key */
export function hasString(key) {
  return key in textsNow();
}

/** The first of the keys that the catalogue has: a name that came with a model may have no words here. @param {string[]} keys */
export const firstKey = (...keys) => keys.find(hasString) ?? keys[keys.length - 1];

/**
 * A string whose `{name}` parts are nodes: `phrase("inspector.looks", {query: h("b", …)})` → nodes to append, in the
 * language's own order. `[[…]]` is left out on a phone.
 * @param {string} key
 * @param {Object<string, Node|string|number>} parts
 * @returns {(Node|string)[]}
 */
export function phrase(key, parts) {
  return nodesOf(patternOf(key, parts.n), parts);
}

/** @param {string} pattern @param {Object<string, Node|string|number>} parts @returns {(Node|string)[]} */
function nodesOf(pattern, parts) {
  return pattern
    .split(/(\[\[[^\]]*\]\]|\{\w+\})/)
    .filter(Boolean)
    .map((piece) => {
      if (piece.startsWith("[[")) return roomy(nodesOf(piece.slice(2, -2), parts));
      const name = piece.match(/^\{(\w+)\}$/)?.[1];
      const part = name === undefined ? undefined : parts[name];
      return part === undefined ? piece : part instanceof Node ? part : String(part);
    });
}

/** @param {(Node|string)[]} words */
function roomy(words) {
  const element = document.createElement("span");
  element.className = "roomy";
  element.append(...words);
  return element;
}

/** ISO 15924 codes of scripts that stand for themselves: their languages are not known. @type {Object<string, string>} */
const SCRIPTS = {
  arabic: "Arab",
  cyrillic: "Cyrl",
  devanagari: "Deva",
  greek: "Grek",
  hangul: "Hang",
  hebrew: "Hebr",
  thai: "Thai",
};

/** "ja" → "Japanese", "cyrillic" → "Cyrillic"; the name of another script as it is. @param {string} code */
export function languageName(code) {
  const script = SCRIPTS[code];
  if (!script && code.length > 3) return code;
  try {
    return namesOf(language(), script ? "script" : "language").of(script ?? code) ?? code;
  } catch {
    return code;
  }
}

/** @type {Map<string, Intl.DisplayNames>} by language and type: making one takes a millisecond */
const displayNames = new Map();

/** @param {string} language @param {"language"|"script"} type */
function namesOf(language, type) {
  const key = `${language} ${type}`;
  const names = displayNames.get(key) ?? new Intl.DisplayNames([language], { type });
  displayNames.set(key, names);
  return names;
}
