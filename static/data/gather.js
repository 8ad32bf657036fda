/** Draws once what arrives together: all cached data arrives before the browser's next task. No DOM. */

/** @param {() => void} show */
export function createGathering(show) {
  let timer = 0;
  /** @type {any[]} */
  const mistakes = [];
  const now = () => {
    clearTimeout(timer);
    timer = 0;
    try {
      show();
    } catch (error) {
      mistakes.push(error);
    }
  };
  return {
    /** Call when there is something new to show. */
    add() {
      timer ||= setTimeout(now);
    },
    /** Shows what is new at once, because nothing more will come. Throws errors that happened on the way. */
    end() {
      if (timer) now();
      if (mistakes.length) throw mistakes[0];
    },
  };
}
