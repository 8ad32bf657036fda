/** From a state to a trace, in steps: the overview first, then what the visible panels need. */

import { otherOf } from "../model/compare/runs.js";
import { rowOf } from "../model/selection.js";
import { changeOf } from "./changes.js";
import { createGathering } from "./gather.js";
import { createLater } from "./later.js";
import { modelTrace } from "./model_trace.js";
import { keyOf } from "./request.js";

/**
 * @typedef {import("../state/store.js").State} State
 * @typedef {import("./model_trace.js").ModelTrace} ModelTrace
 * @typedef {Parameters<typeof modelTrace>[0]} Parts
 * @typedef {(need: string|string[], fields: Partial<Parts>) => void} Arrive  these needs are met: by these parts
 * @typedef {(state: State, trace: ModelTrace, arrive: Arrive, names: string[], soon?: ""|"soon_") => Promise<unknown>} Fetch
 */

/**
 * @param {ReturnType<typeof import("./traces.js").createTraces>} traces
 * @param {(name: string|null) => any} modelNamed  a line of /api/models
 */
export function createLoader(traces, modelNamed) {
  let turn = 0;
  const later = createLater(traces);

  /**
   * Load what `needs` names. `onTrace` is called when the overview is here and whenever more is, with the needs that the
   * trace has by then; never for a state that is not the newest any more.
   * @param {import("../state/store.js").State} state
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
      const key = keyOf(state);
      /** @type {Parts} */
      const parts = { key, model, overview, attention: state.attention, explained: later.known(key) };
      const pinned = withTarget(state, overview.meta);
      /** @type {Set<string>} */
      const have = new Set(asNeeds("explain", Object.keys(parts.explained ?? {})));
      const shown = createGathering(() => mine === turn && onTrace(modelTrace(parts), have));
      /** @type {Arrive} */
      const arrive = (need, fields) => {
        if (mine !== turn) return;
        Object.assign(parts, fields, { explained: { ...parts.explained, ...fields.explained } });
        for (const one of [need].flat()) have.add(one);
        shown.add();
      };
      shown.add(); // so that cached data is drawn together with the overview
      const possible = [...needs].filter((need) => modelTrace(parts).lacks(need) === null && !have.has(need));
      const can = possible.filter((need) => !later.waits(need));
      /** @param {string[]} some */
      const fetchAll = (some) =>
        Promise.all(
          byKind(some).map(([kind, names]) => fetchers[kind](pinned, modelTrace(parts), arrive, names)),
        ).finally(shown.end);
      await fetchAll(can.filter((need) => need !== "change"));
      if (mine === turn && can.includes("change")) await fetchAll(["change"]); // the largest answer: the pictures come first
      later.soon(
        possible.filter(later.waits),
        () => mine === turn,
        (need) => later.ask(pinned, modelTrace(parts), need, arrive),
      );
    } catch (error) {
      if (mine === turn) throw error;
    }
    return mine === turn;
  }

  /** By kind of need; `names` are the parts after the colon, of all needs of that kind. @type {Record<string, Fetch>} */
  const fetchers = {
    detail: async (state, trace, arrive) => arrive("detail", { detail: await traces.detail(state) }),
    heads: async (state, trace, arrive) => arrive("heads", { heads: await traces.heads(state) }),
    other: async (state, { model }, arrive) =>
      arrive("other", { other: await traces.detail(otherOf(state, model), "other") }),
    prediction: async (state, trace, arrive) => {
      const row = rowOf(state, trace);
      arrive("prediction", { predictions: { [row]: await traces.prediction(state, row) } });
    },
    counts: async (state, trace, arrive) => arrive("counts", { counts: await traces.counts(state, trace.text) }),
    change: async (state, trace, arrive) => arrive("change", { change: await changeOf(traces, state, trace) }),
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

  /** Cancels what is being loaded: there is nothing to show any more. */
  const cancel = () => void turn++;

  /**
   * Prefetches what another view of the same run will need, once everything visible has arrived. What fails is
   * requested again when it is needed.
   * @param {import("../state/store.js").State} state @param {string[]} needs
   */
  async function soon(state, needs) {
    const overview = await traces.overview(state);
    const trace = modelTrace({
      key: keyOf(state),
      model: overview.model ?? modelNamed(overview.meta.model),
      overview,
      attention: state.attention,
    });
    const can = needs.filter((need) => trace.lacks(need) === null);
    const pinned = withTarget(state, overview.meta);
    await Promise.allSettled(
      byKind(can).map(([kind, names]) => fetchers[kind](pinned, trace, () => {}, names, "soon_")),
    );
  }

  return { load, cancel, soon };
}

/** Needs by kind, with the names after their colons. @param {string[]} needs @returns {[string, string[]][]} */
function byKind(needs) {
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
const asNeeds = (kind, names) => names.map((name) => `${kind}:${name}`);

/** If an explanation is not available, its panel says so; the other panels are unaffected. @param {any} error */
function refusal(error) {
  if (error.status >= 400 && error.status < 500) return { refused: error };
  throw error;
}

/**
 * Keeps the model's own target, so that every part of a picture, and the run it is compared with, has the same one.
 * @param {import("../state/store.js").State} state @param {any} meta  of the overview
 */
function withTarget(state, { target_tokens: tokens }) {
  if (!tokens || state.file !== null || state.targetIds) return state;
  return { ...state, target: null, targetIds: tokens.map(idOf) };
}
