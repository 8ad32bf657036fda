/** One measurement at a time: begun and stopped by the reader, its points kept until the next. No DOM. */

import { measureCosts } from "../../data/timings.js";

/** @import { Start, Timing } from "../../data/timings.js" */

/**
 * @typedef {Object} Measured
 * @property {Start|null} start
 * @property {Timing[]} points
 * @property {string|null} model  whose width it has
 * @property {boolean} running
 * @property {unknown} error
 */

/** @returns {Measured} */
const nothing = () => ({ start: null, points: [], model: null, running: false, error: null });

/** @param {() => void} onChange  there is something new */
export function createMeasuring(onChange) {
  let control = new AbortController();
  let measured = nothing();

  /** @param {string|null} model */
  async function begin(model) {
    control.abort();
    control = new AbortController();
    const [mine, { signal }] = [{ ...nothing(), model, running: true }, control];
    measured = mine;
    onChange();
    try {
      await measureCosts(model, {
        signal,
        onStart: (start) => Object.assign(mine, { start }),
        onPoint(point) {
          mine.points.push(point);
          if (measured === mine) onChange();
        },
      });
    } catch (error) {
      if (!signal.aborted) mine.error = error;
    }
    mine.running = false;
    if (measured === mine) onChange();
  }

  return {
    begin,
    stop: () => control.abort(),
    /** Of this model; another one has another width. @param {string|null} model */
    of: (model) => (measured.model === model ? measured : nothing()),
  };
}
