/** From a state to a trace, step by step: the overview first, then what the visible panels need. */

import { position } from "../selectors.js";
import { modelTrace } from "./model_trace.js";
import { requestOf } from "./traces.js";

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
      const parts = { key: JSON.stringify(requestOf(state)), model: modelNamed(overview.meta.model), overview };
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
      await Promise.all([...needs].map((need) => fetchers[need](state, modelTrace(parts), arrive)));
    } catch (error) {
      if (mine === turn) throw error;
    }
    return mine === turn;
  }

  const fetchers = {
    detail: async (state, trace, arrive) => arrive("detail", { detail: await traces.detail(state) }),
    other: async (state, trace, arrive) =>
      arrive("other", { other: await traces.detail(state, { causal: !state.causal }) }),
    prediction: async (state, trace, arrive) => {
      const { query } = position(state, trace);
      arrive("prediction", { predictions: { [query]: await traces.prediction(state, query) } });
    },
  };

  /** Forget what is being loaded: there is nothing to show any more. */
  const cancel = () => void turn++;

  return { load, cancel };
}
