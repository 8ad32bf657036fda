/**
 * What the page asks the server for, once each. A trace is a pure function of its request, so the request is the key of
 * the cache. Of each kind only the newest question is waited for; an older one that is still open is given up.
 */

import { grow } from "./grow.js";
import { createLru } from "./lru.js";
import { detailNames, detailOf } from "./model_trace.js";
import { retrying } from "./retry.js";

/** How many candidates a prediction lists. */
export const N_CANDIDATES = 20;

/**
 * @param {{trace: typeof import("./api.js").trace}} api
 * @param {{onWait?: (waiting: import("./retry.js").Waiting) => void}} [options]
 */
export function createTraces(api, { onWait } = {}) {
  // An overview of 256 tokens is 3 MB, a detail 0.6 MB.
  const caches = { overview: createLru(8), detail: createLru(32), other: createLru(16), prediction: createLru(64) };
  /** @type {Object<string, {controller: AbortController, giveUp: () => void}>} */
  const open = {};

  function ask(kind, request, read) {
    const key = JSON.stringify(request);
    const known = caches[kind].get(key);
    if (known) return known;
    open[kind]?.giveUp();
    const controller = new AbortController();
    const { signal } = controller;
    const answer = retrying(() => api.trace(request, { signal }), { signal, onWait }).then(read);
    caches[kind].set(key, answer);
    answer.catch(() => caches[kind].drop(key, answer));
    const giveUp = () => {
      caches[kind].drop(key, answer);
      controller.abort();
    };
    open[kind] = { controller, giveUp };
    // Once it is answered there is nothing to give up: a cached answer must stay.
    const closed = () => open[kind]?.controller === controller && delete open[kind];
    answer.then(closed, closed);
    return answer;
  }

  return {
    /** All patterns as pictures, and the mask. @param {import("../state.js").State} state */
    overview: (state) => ask("overview", overviewOf(state), (decoded) => decoded),

    /** One head in float32. @param {import("../state.js").State} state @param {{causal?: boolean}} [mask] */
    detail(state, { causal = state.causal } = {}) {
      const { layer, head } = state;
      const request = { ...requestOf({ ...state, causal }), want: detailNames(layer), heads: [head], dtype: "float32" };
      return ask(causal === state.causal ? "detail" : "other", request, (decoded) => detailOf(decoded, layer, head));
    },

    /** What comes after `position`. @param {import("../state.js").State} state @param {number} position */
    prediction: (state, position) =>
      ask("prediction", predictionOf(state, position), ({ meta }) => meta.predictions[0]),

    /**
     * A step of a generation brought the overview's next row and the next prediction: nobody needs to ask for them.
     * @param {import("../state.js").State} before  what is shown now
     * @param {import("../state.js").State} after  the same with the new token
     * @param {any} step
     */
    learn(before, after, step) {
      if (!before.causal) return; // generation is causal; with the mask off every other row changes too
      caches.prediction.set(JSON.stringify(predictionOf(after, step.index)), Promise.resolve(step.prediction));
      const shown = caches.overview.get(JSON.stringify(overviewOf(before)));
      if (!shown) return;
      const key = JSON.stringify(overviewOf(after));
      const grown = shown.then((overview) => grow(overview, step));
      caches.overview.set(key, grown);
      grown.catch(() => caches.overview.drop(key, grown));
    },
  };
}

function overviewOf(state) {
  return { ...requestOf(state), want: ["layers.*.attn.pattern", "layers.0.attn.mask"], dtype: "uint8" };
}

function predictionOf(state, position) {
  const { temperature, topK: top_k, topP: top_p } = state;
  const predict = { positions: [position], n: N_CANDIDATES, temperature, top_k, top_p };
  return { ...requestOf(state), want: [], predict };
}

/** The part of a request that says what is traced. @param {import("../state.js").State} state */
export function requestOf({ model, text, ids, causal }) {
  return { model, ...(ids ? { token_ids: ids } : { text }), masks: { causal, padding: true } };
}
