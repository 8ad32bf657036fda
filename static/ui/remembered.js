/** What this browser remembers about its reader, besides the three values that the server must know (cookies.js). */

/** @type {Map<string, string>} if the browser stores nothing, it lasts as long as the page */
const here = new Map();

/** @param {string} name @returns {string|null} */
export function remembered(name) {
  try {
    return localStorage.getItem(`chumoku.${name}`) ?? here.get(name) ?? null;
  } catch {
    return here.get(name) ?? null;
  }
}

/** @param {string} name @param {string} value */
export function keepInMind(name, value) {
  here.set(name, value);
  try {
    localStorage.setItem(`chumoku.${name}`, value);
  } catch {
    // in a private window it is remembered as long as the page is open
  }
}
