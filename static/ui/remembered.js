/** What this browser remembers about its reader: in its storage, and in cookies the three values that the server must know to render the page. */

const YEAR = 365 * 24 * 3600;

/** Sets a cookie. @param {"lang"|"theme"|"type"} name @param {string|null} value  null forgets it */
export function remember(name, value) {
  const age = value === null ? 0 : YEAR;
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API answers later, and the page may be left by then
  document.cookie = `${name}=${value ?? ""}; max-age=${age}; samesite=lax`;
}

/** @type {Map<string, string>} if the browser stores nothing, it lasts as long as the page */
const here = new Map();

/** @param {string} name @returns {string|null} */
export function remembered(name) {
  try {
    return here.get(name) ?? localStorage.getItem(`chumoku.${name}`);
  } catch {
    return here.get(name) ?? null;
  }
}

/** @param {string} name @param {string} value */
export function keepInMind(name, value) {
  try {
    localStorage.setItem(`chumoku.${name}`, value);
  } catch {
    here.set(name, value);
  }
}
