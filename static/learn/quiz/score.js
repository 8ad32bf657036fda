/** The guesses of this visit, kept in the tab only. */

const NAME = "chumoku.quiz";

/** If the tab stores nothing, it lasts as long as the page. @type {string|null} */
let here = null;
/** @type {(() => void)[]} */
const listeners = [];

/** @returns {{right: number, n: number}} */
export function scoreNow() {
  try {
    const { right, n } = JSON.parse(stored() ?? "{}");
    return Number.isInteger(right) && Number.isInteger(n) ? { right, n } : { right: 0, n: 0 };
  } catch {
    return { right: 0, n: 0 };
  }
}

/** @param {boolean} right */
export function addGuess(right) {
  const before = scoreNow();
  const score = JSON.stringify({ right: before.right + (right ? 1 : 0), n: before.n + 1 });
  try {
    sessionStorage.setItem(NAME, score);
  } catch {
    here = score;
  }
  for (const listener of listeners) listener();
}

/** @param {() => void} listener */
export const onScore = (listener) => listeners.push(listener);

function stored() {
  try {
    return here ?? sessionStorage.getItem(NAME);
  } catch {
    return here;
  }
}
