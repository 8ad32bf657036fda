/** Draws once what arrives together: all cached data, before the browser's next task. No DOM. */

/** Cached data arrives within a few microtasks: this many are enough for the longest way. */
const TURNS = 40;

/** Runs `task` before the browser's next task, so that it is painted in the same frame as the change that asked. */
async function next(/** @type {() => void} */ task) {
  for (let i = 0; i < TURNS; i++) await null;
  task();
}

/** @param {() => void} show */
export function createGathering(show) {
  let waits = false;
  /** @type {any[]} */
  const mistakes = [];
  const now = () => {
    if (!waits) return;
    waits = false;
    try {
      show();
    } catch (error) {
      mistakes.push(error);
    }
  };
  return {
    /** Call when there is something new to show. */
    add() {
      if (!waits) next(now);
      waits = true;
    },
    /** Shows what is new at once, because nothing more will come. Throws errors that happened on the way. */
    end() {
      now();
      if (mistakes.length) throw mistakes[0];
    },
  };
}
