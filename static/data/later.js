/** Data that no picture waits for: requested when everything else of a sentence is drawn. No DOM. */

const LATER = new Set(["explain:heads"]);

/** The pause without newer requests before these are sent: nothing is requested between two keystrokes. */
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
      if (!error.code) console.error(error); // no answer of the server's
      return { refused: error };
    });
    if (answer && !answer.refused) late = { key: trace.key, explained: { [what]: answer } };
    if (answer) arrive(need, { explained: { [what]: answer } });
  }

  return {
    /** @param {string} need */
    waits: (need) => LATER.has(need),

    /** What has come for this sentence: a choice within it has it at once. @param {string} key */
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
