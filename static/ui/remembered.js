/** What this browser remembers about its reader, besides the three values that the server must know (cookies.js). */

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
