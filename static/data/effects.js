/** What each look decides: a stream of measured cuts. No DOM. */

import * as api from "./api.js";
import { untilDone } from "./sse.js";

/**
 * @typedef {{attention: string, layer: number, query: number, key: number, p: number, delta: number}} Effect  `p` of the answer
 *   after the cut; `delta`: ln p after − ln p before
 * @typedef {{answer: number, p: number, edges: number}} Start
 */

/**
 * Ask for the effects of edges on one answer. Resolves when the stream is complete. Aborting the signal closes the
 * connection, which ends the server's work; the server's own error is thrown as an `ApiError`.
 * @param {object} request
 * @param {{signal: AbortSignal, onStart: (start: Start) => void, onEffect: (effect: Effect) => void}} options
 */
export async function measure(request, { signal, onStart, onEffect }) {
  const answer = await api.effects(request, { signal });
  await untilDone(answer, signal, { start: onStart, effect: onEffect });
}
