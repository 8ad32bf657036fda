/** The answer's bars slide to their new lengths, so that a fall is seen. Their numbers are the new ones at once. */

/** @import { Bar } from "../words/answers.js" */

/** How long it takes. Milliseconds. */
const DURATION = 420;

/** The bars on their way: `part` of it, 0 to 1, is done. One that was not there begins at its ghost, or at nothing. @param {Bar[]} from @param {Bar[]} to @param {number} part */
export function between(from, to, part) {
  if (part >= 1) return to;
  const eased = 1 - (1 - part) ** 3;
  return to.map((bar) => {
    const start = from.find(({ name }) => name === bar.name)?.p ?? bar.before ?? 0;
    return { ...bar, p: start + (bar.p - start) * eased };
  });
}

/** @param {() => void} repaint */
export function createSliding(repaint) {
  let [from, to] = [/** @type {Bar[]} */ ([]), /** @type {Bar[]} */ ([])];
  let began = -Infinity;
  let frame = 0;
  const now = () => between(from, to, (performance.now() - began) / DURATION);

  function step() {
    repaint();
    frame = performance.now() - began < DURATION ? requestAnimationFrame(step) : 0;
  }

  return {
    now,
    /** @param {Bar[]} bars */
    to(bars) {
      const moves = to.length && bars.some(({ name, p }) => to.find((one) => one.name === name)?.p !== p);
      if (!moves || matchMedia("(prefers-reduced-motion: reduce)").matches) {
        if (moves || !to.length) began = -Infinity;
        to = bars;
        return;
      }
      [from, to, began] = [now(), bars, performance.now()];
      if (!frame) frame = requestAnimationFrame(step);
    },
  };
}
