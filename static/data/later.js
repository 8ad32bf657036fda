/** Data that no picture waits for: requested after everything else of a sentence is drawn. No DOM. */

/**
 * @import { State } from "../state/store.js"
 * @import { Arrive } from "./loader.js"
 * @import { ModelTrace } from "./model_trace.js"
 */

const LATER = new Set(["explain:heads"]);

/** How long there must be no newer request before these are sent, so that nothing is requested between keystrokes. */
const PAUSE_MS = 150;

/** Between two texts that are typed sooner after one another, only the first picture is drawn. Milliseconds. */
const TYPING_MS = 400;

/** What is needed at once, also while someone types. @param {string} need */
export const isSoon = (need) => need === "prediction" || need.startsWith("code:");

/**
 * Whether someone is typing: a new text soon after another one.
 * @param {() => number} [now]  milliseconds
 */
export function createTypist(now = () => performance.now()) {
  let [last, at] = [/** @type {string|null} */ (null), -Infinity];
  /** @param {Pick<State, "text"|"ids">} state */
  return ({ text, ids }) => {
    if (ids || text === last) return false;
    const typing = now() - at < TYPING_MS;
    [last, at] = [text, now()];
    return typing;
  };
}

/** Long enough to be sure that no other key follows at once. */
export const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

/** @param {string} need */
const questionOf = (need) => need.slice("explain:".length);

/** @param {ReturnType<typeof import("./traces.js").createTraces>} traces */
export function createLater(traces) {
  /** @type {{key: string, explained: Object<string, any>}} of the last sentence for which it came */
  let late = { key: "", explained: {} };

  /**
   * If it fails, its place says so.
   * @param {State} state @param {ModelTrace} trace
   * @param {string} need @param {Arrive} arrive
   */
  async function ask(state, trace, need, arrive) {
    const what = questionOf(need);
    const answer = await traces.explain(state, trace, what).catch((/** @type {any} */ error) => {
      if (error.name === "AbortError") return null;
      if (!error.code) console.error(error); // not an error of the server
      return { refused: error };
    });
    if (answer && !answer.refused) late = { key: trace.key, explained: { [what]: answer } };
    if (answer) arrive(need, { explained: { [what]: answer } });
  }

  return {
    /** @param {string} need */
    waits: (need) => LATER.has(need),

    /** What has arrived for this sentence; another selection in it can use it at once. @param {string} key */
    known: (key) => (late.key === key ? late.explained : {}),

    /**
     * @param {string[]} needs @param {() => boolean} newest  whether nothing newer is wanted
     * @param {(need: string) => Promise<void>|void} start
     */
    soon(needs, newest, start) {
      if (needs.length) setTimeout(() => newest() && needs.forEach(start), PAUSE_MS);
    },
    ask,
  };
}
