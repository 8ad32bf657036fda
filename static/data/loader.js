/** From a state to a trace, step by step: the overview first, then what the visible panels need. */

import { position } from "../selectors.js";
import { inside } from "../compare/measure.js";
import { aloneOf, compared, offsetOf, otherOf } from "../compare/runs.js";
import { modelTrace, realOf } from "./model_trace.js";
import { keyOf } from "./traces.js";

/**
 * @param {ReturnType<typeof import("./traces.js").createTraces>} traces
 * @param {(name: string|null) => any} modelNamed  a line of /api/models
 */
export function createLoader(traces, modelNamed) {
  let turn = 0;

  /**
   * Load what `needs` names. `onTrace` is called when the overview is here and whenever more is, with the needs that the
   * trace has by then; never for a state that is not the newest any more.
   * @param {import("../state.js").State} state
   * @param {Set<string>} needs
   * @param {(trace: import("./model_trace.js").ModelTrace, have: Set<string>) => void} onTrace
   * @returns {Promise<boolean>} false: something newer has been asked for meanwhile
   */
  async function load(state, needs, onTrace) {
    const mine = ++turn;
    try {
      const overview = await traces.overview(state);
      if (mine !== turn) return false;
      const { model = modelNamed(overview.meta.model) } = overview; // a file brings its own
      const parts = { key: keyOf(state), model, overview };
      /** @type {Set<string>} */
      const have = new Set();
      const show = () => onTrace(modelTrace(parts), have);
      const arrive = (need, fields) => {
        if (mine !== turn) return;
        Object.assign(parts, fields);
        have.add(need);
        show();
      };
      // What is cached arrives before the next frame, and is then drawn together with the overview.
      show();
      const can = [...needs].filter((need) => modelTrace(parts).lacks(need) === null);
      const fetchAll = (some) => Promise.all(some.map((need) => fetchers[need](state, modelTrace(parts), arrive)));
      await fetchAll(can.filter((need) => need !== "change"));
      if (mine === turn && can.includes("change")) await fetchAll(["change"]); // the largest: the pictures go first
    } catch (error) {
      if (mine === turn) throw error;
    }
    return mine === turn;
  }

  const fetchers = {
    detail: async (state, trace, arrive) => arrive("detail", { detail: await traces.detail(state) }),
    other: async (state, trace, arrive) => arrive("other", { other: await traces.detail(otherOf(state), "other") }),
    prediction: async (state, trace, arrive) => {
      const { query } = position(state, trace);
      arrive("prediction", { predictions: { [query]: await traces.prediction(state, query) } });
    },
    counts: async (state, trace, arrive) => arrive("counts", { counts: await traces.counts(state, trace.text) }),
    change: async (state, trace, arrive) => arrive("change", { change: await changeOf(traces, state, trace) }),
  };

  /** Forget what is being loaded: there is nothing to show any more. */
  const cancel = () => void turn++;

  return { load, cancel };
}

/** Both runs as numbers, and what a padded one should equal. @returns {Promise<import("./model_trace.js").Change>} */
async function changeOf(traces, state, trace) {
  const { before, after } = compared(state);
  const { query } = position(state, trace);
  const there = query - offsetOf(state) + offsetOf(otherOf(state));
  const run = async (one, kind) => {
    const asked = [traces.weights(one, trace.tokens.length, `${kind}_weights`), traces.logits(one, `${kind}_logits`)];
    const [weights, logits] = await Promise.all(asked);
    return { weights, logits, real: realOf(weights.meta) };
  };
  const [was, is, alone, otherPrediction] = await Promise.all([
    run(before, "before"),
    run(after, "after"),
    state.padCount && !state.causal ? aloneRun(traces, state) : null,
    inside(trace.real, query) ? traces.prediction(otherOf(state), there, "other_prediction") : null,
  ]);
  // Under the causal mask the single run is the one before: "other", which is loaded first.
  const single = state.padCount && state.causal ? { detail: trace.other, logits: was.logits } : alone;
  return { before: was, after: is, alone: single, otherPrediction };
}

async function aloneRun(traces, state) {
  const alone = aloneOf(state);
  const [detail, logits] = await Promise.all([traces.detail(alone, "alone"), traces.logits(alone, "alone_logits")]);
  return { detail, logits };
}
