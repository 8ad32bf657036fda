/** How fast a generation is shown. */

/** Milliseconds that Write on waits after a step is drawn. */
export const PACES = { slow: 1000, normal: 300, fast: 0 };

const FRAME = 16;
/** In milliseconds: a picture that takes longer (the server does not respond) does not delay the text. */
const LONGEST_DRAW = 1000;

/**
 * Waits so that a step can be seen: the page draws it first, and handles input meanwhile.
 * @param {keyof typeof PACES} pace @param {() => boolean} isDrawn @param {AbortSignal} signal
 */
export async function look(pace, isDrawn, signal) {
  const longest = performance.now() + LONGEST_DRAW;
  do await pause(FRAME, signal);
  while (!isDrawn() && !signal.aborted && performance.now() < longest);
  await pause(PACES[pace], signal);
}

/** Waits until the time is over or the signal aborts. @param {number} milliseconds @param {AbortSignal} signal */
function pause(milliseconds, signal) {
  if (milliseconds === 0 || signal.aborted) return undefined;
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    const stop = () => {
      clearTimeout(timer);
      resolve(undefined);
    };
    signal.addEventListener("abort", stop, { once: true });
  });
}
