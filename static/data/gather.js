/** Draws once what arrives together: everything that is cached is here before the browser's next task. No DOM. */

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
    /** There is something new to show. */
    add() {
      timer ||= setTimeout(now);
    },
    /** Show what is new at once: nothing more is on its way. Throws errors that happened on the way. */
    end() {
      if (timer) now();
      if (mistakes.length) throw mistakes[0];
    },
  };
}
