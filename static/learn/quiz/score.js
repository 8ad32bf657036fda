/** The guesses of this visit, kept in the tab only. */

const NAME = "chumoku.quiz";

/** @type {{right: number, n: number}|null} null: not read yet */
let score = null;
/** @type {(() => void)[]} */
const listeners = [];

/** @returns {{right: number, n: number}} */
export const scoreNow = () => (score ??= read());

/** @param {boolean} right */
export function addGuess(right) {
  const before = scoreNow();
  score = { right: before.right + (right ? 1 : 0), n: before.n + 1 };
  try {
    sessionStorage.setItem(NAME, JSON.stringify(score));
  } catch {
    // the score then lasts as long as the page
  }
  for (const listener of listeners) listener();
}

/** @param {() => void} listener */
export const onScore = (listener) => listeners.push(listener);

function read() {
  try {
    const { right, n } = JSON.parse(sessionStorage.getItem(NAME) ?? "{}");
    return Number.isInteger(right) && Number.isInteger(n) ? { right, n } : { right: 0, n: 0 };
  } catch {
    return { right: 0, n: 0 };
  }
}
