/** Data that no picture waits for: requested after everything else of a sentence is drawn. No DOM. */

const LATER = new Set(["explain:heads"]);

/** How long there must be no newer request before these are sent, so that nothing is requested between keystrokes. */
const PAUSE_MS = 150;

/** @param {string} need */
const questionOf = (need) => need.slice("explain:".length);

/** @param {ReturnType<typeof import("./traces.js").createTraces>} traces */
export function createLater(traces) {
  /** @type {{key: string, explained: Object<string, any>}} of the last sentence for which it came */
  let late = { key: "", explained: {} };

  /**
   * If it fails, its place says so.
   * @param {import("../state/store.js").State} state @param {import("./model_trace.js").ModelTrace} trace
   * @param {string} need @param {import("./loader.js").Arrive} arrive
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
