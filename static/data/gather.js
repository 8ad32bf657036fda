/** Showing once what arrives together: all that is cached is here before the browser's next task. No DOM. */

/** @param {() => void} show */
export function createGathering(show) {
  let timer = 0;
  const now = () => {
    clearTimeout(timer);
    timer = 0;
    show();
  };
  return {
    /** There is something new to show. */
    add: () => void (timer ||= setTimeout(now)),
    /** Show what is new at once: nothing more is on its way. */
    end: () => void (timer && now()),
  };
}
