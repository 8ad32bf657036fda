/** The names of languages and scripts, in the page's language. */

import { language } from "./i18n.js";

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
    const names = new Intl.DisplayNames([language()], { type: script ? "script" : "language" });
    return names.of(script ?? code) ?? code;
  } catch {
    return code;
  }
}
