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

/** How long a frame is waited for: a hidden tab has none. Milliseconds. */
const NO_FRAME_MS = 100;

/**
 * A value that is drawn when what arrives with it has been painted.
 * @template T @param {T} value @returns {Promise<T>}
 */
export const painted = (value) =>
  new Promise((resolve) => {
    const now = () => resolve(value);
    setTimeout(() => globalThis.requestAnimationFrame?.(() => setTimeout(now)), 1); // after the drawing
    setTimeout(now, NO_FRAME_MS);
  });
