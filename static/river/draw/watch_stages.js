/** The stages of Watch: thin streams run forward, the answer, widths swell back, then darkness. No DOM. */

/**
 * @typedef {Object} Stage  how far each has come, 0 to 1
 * @property {number} flow  of the streams, through all layers
 * @property {number} answer @property {number} swell @property {number} dark
 */

/** How long it all takes. Milliseconds. */
export const DURATION = 6000;

/** When each begins and ends. */
const TIMES = { flow: [0, 0.5], answer: [0.48, 0.58], swell: [0.58, 0.82], dark: [0.82, 0.96] };

/** From layer to layer the swelling starts later: at the last it has this much of its time left when the first begins. */
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
