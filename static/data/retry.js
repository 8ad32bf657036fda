/** Retries after temporary failures: a server that does not respond, or is full. */

/** @import { ApiError } from "./api.js" */

/** @typedef {{code: string, seconds: number, ahead?: number}|null} Waiting  null: an answer came; `ahead`: how many others the server has in its queue */

const LONGEST = 8;

/** Up to this much longer than asked for, so that those who were refused together do not come back together. */
const JITTER = 0.5;

/**
 * Runs until it succeeds, or fails in a way that waiting does not fix.
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
