/** The events of a generation as an iterator: the caller decides the pace and when to stop. */

import { ApiError } from "../../data/api.js";
import { streamGeneration } from "../../data/streams.js";

/**
 * The steps of one request, each with `from`: the prediction that its token was drawn from; and the first with `begun`: what was
 * read before it.
 * @param {object} request @param {AbortSignal} signal
 * @returns {AsyncGenerator<any>}
 */
export async function* generationEvents(request, signal) {
  let [from, begun] = [null, null];
  for await (const { name, data } of eventsOf(request, signal)) {
    if (name === "step") yield { ...data, from, begun };
    from = data.prediction ?? from;
    begun = name === "start" ? data.cache : null;
  }
}

/** @typedef {{name?: string, data?: any, done?: boolean, error?: unknown}} Event */

/** What arrives is buffered: a slow reader does not block the server. @param {object} request @param {AbortSignal} signal */
async function* eventsOf(request, signal) {
  const inbox = /** @type {Event[]} */ ([]);
  let wake = () => {};
  const put = (/** @type {Event} */ item) => {
    inbox.push(item);
    wake();
  };
  streamGeneration(request, { signal, onEvent: (name, data) => put({ name, data }) })
    .then((end) => put(end ? { done: true } : { error: cutOff() }))
    .catch((error) => put({ error }));
  for (;;) {
    while (inbox.length === 0) await new Promise((resolve) => (wake = /** @type {() => void} */ (resolve)));
    const { name, data, done, error } = /** @type {Event} */ (inbox.shift());
    if (error) throw error;
    if (done) return;
    yield { name, data };
  }
}

function cutOff() {
  return new ApiError({ code: "unreachable", message: "the stream stopped before its end" });
}
