/** How each kind of need is met: by a request, or by loading code. */

import { comparedWith } from "../model/compare/runs.js";
import { position, rowOf } from "../model/selection.js";
import { comparedRuns, uncutOf } from "./compared.js";
import { retrying } from "./retry.js";

/**
 * @import { State } from "../state/store.js"
 * @import { Arrive } from "./loader.js"
 * @import { ModelTrace } from "./model_trace.js"
 * @import { Waiting } from "./retry.js"
 */

/**
 * @typedef {(state: State, trace: ModelTrace, arrive: Arrive, names: string[], soon?: ""|"soon_") => Promise<unknown>} Fetch
 * @typedef {(state: State, ids: string[]) => Promise<unknown>} Bring
 */

/**
 * By kind of need; `names` are the parts after the colon, of all needs of that kind.
 * @param {ReturnType<typeof import("./traces.js").createTraces>} traces
 * @param {Bring} bring  the code of these views
 * @param {(waiting: Waiting) => void} onWait
 * @returns {Record<string, Fetch>}
 */
export function createFetchers(traces, bring, onWait) {
  let waiting = new AbortController();
  return {
    detail: async (state, trace, arrive) => arrive("detail", { detail: await traces.detail(state) }),
    heads: async (state, trace, arrive) => arrive("heads", { heads: await traces.heads(state) }),
    looks: async (state, trace, arrive) => {
      const { attentions, queries, classes } = trace;
      const query = classes && !trace.model.picture ? queries.real.start : position(state, trace).query;
      const own = attentions.filter((one) => one.queries === queries.side);
      arrive("looks", { looks: await traces.looks(state, own, query) });
    },
    compared_detail: async (state, { model }, arrive) =>
      arrive("compared_detail", { comparedDetail: await traces.detail(comparedWith(state, model), "compared_detail") }),
    prediction: async (state, trace, arrive) => {
      const row = rowOf(state, trace);
      arrive("prediction", { predictions: { [row]: await traces.prediction(state, row) } });
    },
    counts: async (state, trace, arrive) => arrive("counts", { counts: await traces.counts(state, trace.text) }),
    uncut: async (state, trace, arrive) => arrive("uncut", { uncut: await uncutOf(traces, state, trace) }),
    compared: async (state, trace, arrive) =>
      arrive("compared", { compared: await comparedRuns(traces, state, trace) }),
    // "code:<view>"
    code: async (state, trace, arrive, names) => {
      waiting.abort(); // for the code of what is not shown any more
      waiting = new AbortController();
      const { signal } = waiting;
      await retrying(() => bring(state, names), { signal, onWait });
      arrive(asNeeds("code", names), {});
    },
    // "tensor:…", "weight:…", "explain:…": all tensors of one load are one request, each explanation is a separate one.
    tensor: async (state, trace, arrive, names, soon = "") =>
      arrive(asNeeds("tensor", names), { tensors: await traces.tensors(state, names, `${soon}tensors`) }),
    weight: async (state, trace, arrive, names, soon = "") =>
      arrive(asNeeds("weight", names), { weights: await traces.parameters(state, names, `${soon}parameters`) }),
    // "rows:<parameter>": those of the prediction's candidates; a vocabulary is never sent whole.
    rows: async (state, trace, arrive, names) => {
      const ids = (await traces.prediction(state, rowOf(state, trace))).candidates.map(idOf);
      const found = names.map(async (name) => [name, { ids, ...(await traces.rows(state, name, ids)) }]);
      arrive(asNeeds("rows", names), { rows: Object.fromEntries(await Promise.all(found)) });
    },
    explain: (state, trace, arrive, names) =>
      Promise.all(
        names.map(async (name) => {
          const answer = await traces.explain(state, trace, name).catch(refusal);
          arrive(`explain:${name}`, { explained: { [name]: answer } });
        }),
      ),
  };
}

/** Needs by kind, with the names after their colons. @param {string[]} needs @returns {[string, string[]][]} */
export function byKind(needs) {
  /** @type {Map<string, string[]>} */
  const kinds = new Map();
  for (const need of needs) {
    const [kind, ...name] = need.split(":");
    kinds.set(kind, [...(kinds.get(kind) ?? []), ...name]);
  }
  return [...kinds];
}

/** @param {{id: number}} token */
const idOf = ({ id }) => id;

/** @param {string} kind @param {string[]} names */
export const asNeeds = (kind, names) => names.map((name) => `${kind}:${name}`);

/** If an explanation is not available, its panel says so; the other panels are unaffected. @param {any} error */
function refusal(error) {
  if (error.status >= 400 && error.status < 500) return { refused: error };
  throw error;
}
