/** How long one layer's attention takes on the server: a stream of measurements. No DOM. */

import * as api from "./api.js";
import { untilDone } from "./sse.js";

/**
 * @typedef {{form: string, n: number, seconds: number|null, why: "memory"|"time"|null}} Timing  `why` it was not run
 * @typedef {{forms: string[], lengths: number[], device: string, threads: number}} Start
 */

/**
 * Resolves when all is measured. Aborting the signal closes the connection, which ends the server's work.
 * @param {string|null} model
 * @param {{signal: AbortSignal, onStart: (start: Start) => void, onPoint: (point: Timing) => void}} options
 */
export async function measureCosts(model, { signal, onStart, onPoint }) {
  const answer = await api.timings({ model }, { signal });
  await untilDone(answer, signal, { start: onStart, point: onPoint });
}
