/**
 * Asks each question once. A trace is a pure function of its request, so the request is the cache key. Of each kind, at
 * most one question is under way and the newest waits for it; those between are never sent. One that takes long while a
 * newer one waits is cancelled.
 */

import { retrying } from "./retry.js";
import { createLru } from "./tensor_store.js";

/** @import { Waiting } from "./retry.js" */

/** How long a newer question waits for the one under way. Milliseconds. */
const PATIENCE_MS = 400;

/** @typedef {(request: any, options: {signal: AbortSignal}) => Promise<any>} Send */
/** @typedef {{sent: boolean, turn: Promise<void>|null, over: Promise<unknown>, giveUp: () => void}} Open  `turn`: when it may be sent */

/**
 * @param {Object<string, number>} kept  the kinds of questions, and how many answers of each are kept
 * @param {Send} trace  sends what names no other way
 * @param {(waiting: Waiting) => void} [onWait]
 */
export function createAsker(kept, trace, onWait) {
  const caches = Object.fromEntries(Object.entries(kept).map(([kind, size]) => [kind, createLru(size)]));
  /** @type {Object<string, Open>} the newest of each kind, until it has its answer */
  const open = {};

  /**
   * @param {string} kind @param {object} request @param {(answer: any) => any} read  what is kept of an answer
   * @param {Send} [send] @returns {Promise<any>}
   */
  function ask(kind, request, read, send = trace) {
    const key = JSON.stringify(request);
    const known = caches[kind].get(key);
    if (known) return known;
    const controller = new AbortController();
    const { signal } = controller;
    const older = open[kind];
    const turn = older ? turnAfter(older) : null;
    const run = () => {
      signal.throwIfAborted();
      mine.sent = true;
      return retrying(() => send(request, { signal }), { signal, onWait });
    };
    /** @type {Open} */
    const mine = { sent: false, turn, over: Promise.resolve(), giveUp };
    const answer = (turn ? turn.then(run) : run()).then(read);
    caches[kind].set(key, answer);
    answer.catch(() => caches[kind].drop(key, answer));
    // After the answer there is nothing to cancel: a cached answer must stay.
    const closed = () => {
      mine.giveUp = () => {};
      if (open[kind] === mine) delete open[kind];
    };
    mine.over = answer.then(closed, closed);
    open[kind] = mine;
    if (older && !older.sent) older.giveUp();
    return answer;

    function giveUp() {
      caches[kind].drop(key, answer);
      controller.abort();
    }
  }

  return { ask, caches };
}

/** When the next question may be sent: after this one, or in its place if it was not sent yet. @param {Open} older */
function turnAfter(older) {
  if (!older.sent) return older.turn;
  /** @type {ReturnType<typeof setTimeout>} */
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, PATIENCE_MS)));
  return Promise.race([older.over, late]).then(() => {
    clearTimeout(timer);
    older.giveUp();
  });
}
