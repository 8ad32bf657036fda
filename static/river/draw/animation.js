/** What moves: the stages of Watch (thin streams run forward, the answer, widths swell back, then darkness) and the answer's bars. */

/** @import { Bar } from "../words/names.js" */

// The answer's bars slide to their new lengths, so that a fall is seen. Their numbers are the new ones at once.

/** How long it takes. Milliseconds. */
const SLIDE_TIME = 420;

/** The bars on their way: `part` of it, 0 to 1, is done. A new bar starts at its ghost, or at 0. @param {Bar[]} from @param {Bar[]} to @param {number} part */
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
  const now = () => between(from, to, (performance.now() - began) / SLIDE_TIME);

  function step() {
    repaint();
    frame = performance.now() - began < SLIDE_TIME ? requestAnimationFrame(step) : 0;
  }

  return {
    now,
    /** @param {Bar[]} bars @param {boolean} [slides]  whether they may: not while the picture moves, which would draw all of it for each frame */
    to(bars, slides = true) {
      const moves = to.length && bars.some(({ name, p }) => to.find((one) => one.name === name)?.p !== p);
      if (!moves || !slides || matchMedia("(prefers-reduced-motion: reduce)").matches) {
        if (moves || !to.length) began = -Infinity;
        to = bars;
        return;
      }
      [from, to, began] = [now(), bars, performance.now()];
      if (!frame) frame = requestAnimationFrame(step);
    },
  };
}

/**
 * @typedef {Object} Stage  how far each has come, 0 to 1
 * @property {number} flow  of the streams, through all layers
 * @property {number} answer @property {number} swell @property {number} dark
 */

/** How long it all takes. Milliseconds. */
export const WATCH_TIME = 6000;

/** When each begins and ends. */
const TIMES = { flow: [0, 0.5], answer: [0.48, 0.58], swell: [0.58, 0.82], dark: [0.82, 0.96] };

/**
 * The swelling starts later from layer to layer: the last layer starts this many times its duration after the first.
 */
const SPREAD = 1.6;

/** @param {number} time  0 to 1 @returns {Stage|null} null: the end, where all is as it is */
export function stageOf(time) {
  if (time >= 1) return null;
  const parts = Object.entries(TIMES).map(([name, [from, to]]) => [name, part((time - from) / (to - from))]);
  return /** @type {Stage} */ (Object.fromEntries(parts));
}

/** How much of its width a line has; widths grow from the answer backwards. @param {Stage|null} stage @param {number} back  0: it ends at the answer, 1: it begins at the first layer */
export const swollen = (stage, back) => (stage ? smooth(part(stage.swell * (1 + SPREAD) - back * SPREAD)) : 1);

/** @param {number} value */
const part = (value) => Math.min(1, Math.max(0, value));

/** @param {number} x */
const smooth = (x) => x * x * (3 - 2 * x);
