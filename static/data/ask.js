/**
 * Asks each question once. A trace is a pure function of its request, so the request is the cache key. Of each kind, at
 * most one question is under way and the newest waits for it; those between are never sent. One that takes long while a
 * newer one waits is cancelled. A server that does not respond, or is full, is asked again. No DOM.
 */

import { memo } from "../model/memo.js";

/**
 * @import { ApiError } from "./api.js"
 * @import { Decoded, Tensor } from "./wire.js"
 */

/** How long a newer question waits for the one under way. Milliseconds. */
const PATIENCE_MS = 400;

/** @typedef {(request: any, options: {signal: AbortSignal}) => Promise<any>} Send */
/** @typedef {{since: number, sent: boolean, turn: Promise<void>|null, over: Promise<unknown>, giveUp: () => void}} Open  `since`: when it was asked, `turn`: when it may be sent */

/**
 * @param {Object<string, number>} kept  the kinds of questions, and how many answers of each are kept
 * @param {Send} trace  sends what names no other way
 * @param {(waiting: Waiting) => void} [onWait]
 */
export function createAsker(kept, trace, onWait) {
  const caches = Object.fromEntries(Object.entries(kept).map(([kind, size]) => [kind, createLru(size)]));
  /** The answers that have arrived, by their promises. @type {WeakMap<Promise<any>, any>} */
  const arrived = new WeakMap();
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
      opened.sent = true;
      return retrying(() => send(request, { signal }), { signal, onWait });
    };
    /** @type {Open} */
    const opened = { since: performance.now(), sent: false, turn, over: Promise.resolve(), giveUp };
    const answer = (turn ? turn.then(run) : run()).then(read);
    keep(kind, key, answer);
    answer.catch(() => caches[kind].drop(key, answer));
    // After the answer there is nothing to cancel: a cached answer must stay.
    const closed = () => {
      opened.giveUp = () => {};
      if (open[kind] === opened) delete open[kind];
    };
    opened.over = answer.then(closed, closed);
    open[kind] = opened;
    if (older && !older.sent) older.giveUp();
    return answer;

    function giveUp() {
      caches[kind].drop(key, answer);
      controller.abort();
    }
  }

  /** Cancels what takes long: the server has its time for what is asked next. */
  function abandon(now = performance.now()) {
    for (const one of Object.values(open)) if (now - one.since > PATIENCE_MS) one.giveUp();
  }

  /** @param {string} kind @param {string} key @param {Promise<any>} answer */
  function keep(kind, key, answer) {
    caches[kind].set(key, answer);
    answer.then(
      (value) => arrived.set(answer, value),
      () => {},
    );
  }

  /** The answer to a question that was asked before, if it is here: nothing is asked. @param {string} kind @param {object} request */
  const known = (kind, request) => arrived.get(caches[kind].get(JSON.stringify(request)) ?? {}) ?? null;

  return { ask, abandon, caches, keep, known };
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

// Tries again after temporary failures: a server that does not respond, or is full.

/** @typedef {{code: string, seconds: number, ahead?: number}|null} Waiting  null: an answer came; `ahead`: how many others the server has in its queue */

const LONGEST = 8;

/**
 * The largest share of a wait that is added to it at random, so that clients refused together do not retry together.
 */
const JITTER = 0.5;

/**
 * Calls `run` until it succeeds, or fails in a way that waiting does not fix.
 * @template T
 * @param {() => Promise<T>} run
 * @param {{signal?: AbortSignal, tries?: number, onWait?: (waiting: Waiting) => void, random?: () => number}} options  `onWait`
 *   hears of every wait (with 0 seconds: trying now) and of its end
 * @returns {Promise<T>}
 */
export async function retrying(run, { signal, tries = Infinity, onWait = () => {}, random = Math.random }) {
  for (let attempt = 0; ; attempt++) {
    try {
      const answer = await run();
      onWait(null);
      return answer;
    } catch (thrown) {
      const error = /** @type {ApiError} */ (thrown);
      const seconds = secondsToWait(error, attempt) * (1 + JITTER * random());
      if (seconds === 0 || attempt + 1 >= tries || signal?.aborted) {
        if (!signal?.aborted) onWait(null); // the server responded with an error, or the answer is no longer wanted
        throw error;
      }
      onWait({ code: error.code, seconds, ahead: error.code === "full" ? error.got : undefined });
      await sleep(seconds, signal);
      onWait({ code: error.code, seconds: 0 });
    }
  }
}

/** @param {ApiError} error @param {number} attempt @returns {number} 0: do not retry */
function secondsToWait(error, attempt) {
  if (error.code === "unreachable") return Math.min(LONGEST, 2 ** attempt);
  return error.status === 503 ? error.retryAfter : 0;
}

/** @param {number} seconds @param {AbortSignal} [signal] */
function sleep(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

// What is kept of the answers.

/** A small cache that drops the least recently used entry. @template T @param {number} size */
export function createLru(size) {
  /** @type {Map<string, T>} insertion order = order of last use */
  const entries = new Map();
  return {
    /** @param {string} key @returns {T|undefined} */
    get(key) {
      const value = entries.get(key);
      if (value !== undefined) this.set(key, value);
      return value;
    },
    /** @param {string} key @param {T} value */
    set(key, value) {
      entries.delete(key);
      entries.set(key, value);
      if (entries.size > size) entries.delete(/** @type {string} */ (entries.keys().next().value));
    },
    /** Forget `key`, if it still is `value`. @param {string} key @param {T} value */
    drop(key, value) {
      if (entries.get(key) === value) entries.delete(key);
    },
  };
}

// Named tensors in bags, one bag per run or model: what has arrived or is under way is never requested again.

/** @typedef {Map<string, Tensor>} Bag */

/** What is on its way into a bag. @type {(bag: Bag) => Map<string, Promise<void>>} */
const coming = memo(() => new Map());

/**
 * The bag called `key`, with all of `names`. Requests only what is missing.
 * @param {ReturnType<typeof createLru<Bag>>} bags @param {string} key @param {string[]} names
 * @param {(want: string[]) => Promise<Pick<Decoded, "tensors">>} asked
 */
export async function fill(bags, key, names, asked) {
  const bag = bags.get(key) ?? new Map();
  bags.set(key, bag);
  const ways = coming(bag);
  // What was cancelled is requested again.
  if (names.some((name) => ways.has(name))) await Promise.allSettled(names.map((name) => ways.get(name)));
  const missing = names.filter((name) => !bag.has(name));
  if (!missing.length) return bag;
  const way = asked(missing).then(({ tensors }) =>
    Object.entries(tensors).forEach(([name, tensor]) => bag.set(name, tensor)),
  );
  for (const name of missing) ways.set(name, way);
  try {
    await way;
  } finally {
    for (const name of missing) if (ways.get(name) === way) ways.delete(name);
  }
  return bag;
}
