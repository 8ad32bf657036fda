/**
 * Asks each question once. A trace is a pure function of its request, so the request is the cache key. Of each kind,
 * only the newest question is waited for; an older one that is still open is cancelled.
 */

import { createLru } from "./lru.js";
import { retrying } from "./retry.js";

/** @typedef {(request: any, options: {signal: AbortSignal}) => Promise<any>} Send */

/**
 * @param {Object<string, number>} kept  the kinds of questions, and how many answers of each are kept
 * @param {Send} trace  sends what names no other way
 * @param {(waiting: import("./retry.js").Waiting) => void} [onWait]
 */
export function createAsker(kept, trace, onWait) {
  const caches = Object.fromEntries(Object.entries(kept).map(([kind, size]) => [kind, createLru(size)]));
  /** @type {Object<string, {controller: AbortController, giveUp: () => void}>} */
  const open = {};

  /**
   * @param {string} kind @param {object} request @param {(answer: any) => any} read  what is kept of an answer
   * @param {Send} [send] @returns {Promise<any>}
   */
  function ask(kind, request, read, send = trace) {
    const key = JSON.stringify(request);
    const known = caches[kind].get(key);
    if (known) return known;
    open[kind]?.giveUp();
    const controller = new AbortController();
    const { signal } = controller;
    const answer = retrying(() => send(request, { signal }), { signal, onWait }).then(read);
    caches[kind].set(key, answer);
    answer.catch(() => caches[kind].drop(key, answer));
    const giveUp = () => {
      caches[kind].drop(key, answer);
      controller.abort();
    };
    open[kind] = { controller, giveUp };
    // After the answer there is nothing to cancel: a cached answer must stay.
    const closed = () => open[kind]?.controller === controller && delete open[kind];
    answer.then(closed, closed);
    return answer;
  }

  return { ask, caches };
}
