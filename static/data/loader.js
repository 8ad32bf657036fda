/** From a state to a trace, in steps: the overview first, then what the visible panels need, their code among it. */

import { asNeeds, byKind, createFetchers } from "./fetchers.js";
import { createGathering } from "./gather.js";
import { createLater, createTypist, isSoon, pause } from "./later.js";
import { modelTrace } from "./model_trace.js";
import { keyOf, withTarget } from "./request.js";

/**
 * @import { State } from "../state/store.js"
 * @import { Bring } from "./fetchers.js"
 * @import { ModelTrace } from "./model_trace.js"
 * @import { Waiting } from "./retry.js"
 */

/**
 * @typedef {Parameters<typeof modelTrace>[0]} Parts
 * @typedef {(need: string|string[], fields: Partial<Parts>) => void} Arrive  these needs are met: by these parts
 */

/** Each is a run of its own, or more: they come when the numbers of the open head are there. */
const AFTER = new Set(["explain:route", "explain:lens", "uncut", "looks"]);

/** The largest answer, and the one that takes longest: the pictures come first. */
const LAST = ["compared", "explain:changes"];

/** @param {string} need */
const isEarly = (need) => !AFTER.has(need) && !LAST.includes(need);

/**
 * @param {ReturnType<typeof import("./traces.js").createTraces>} traces
 * @param {{modelNamed: (name: string|null) => any, bring: Bring, onWait: (waiting: Waiting) => void}} page
 *   `modelNamed`: a line of /api/models; `bring`: the code of these views
 */
export function createLoader(traces, { modelNamed, bring, onWait }) {
  let turn = 0;
  const later = createLater(traces);
  const isTyped = createTypist();
  const fetchers = createFetchers(traces, bring, onWait);

  /**
   * Load what `needs` names. `onTrace` is called when the overview is here and whenever more is, with the needs that the
   * trace has by then; never for a state that is not the newest any more.
   * @param {State} state
   * @param {Set<string>} needs
   * @param {(trace: ModelTrace, have: Set<string>) => void} onTrace
   * @returns {Promise<boolean>} false: something newer has been asked for meanwhile
   */
  async function load(state, needs, onTrace) {
    const mine = ++turn;
    const typing = isTyped(state);
    bring(state, codeAmong(needs)).catch(() => {}); // with the overview; what fails is asked for again below
    try {
      const overview = await traces.overview(state, needs.has("detail") && !typing);
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
      if (modelTrace(parts).pool === 1) for (const one of ["looks", "explain:changes"]) have.add(one); // every weight is here, or comes
      shown.add(); // so that cached data is drawn together with the overview
      const possible = [...needs].filter((need) => modelTrace(parts).lacks(need) === null && !have.has(need));
      const can = possible.filter((need) => !later.waits(need));
      /** @param {string[]} some */
      const fetchAll = (some) =>
        Promise.all(
          byKind(some).map(([kind, names]) => fetchers[kind](pinned, modelTrace(parts), arrive, names)),
        ).finally(shown.end);
      if (typing) await fetchAll(can.filter(isSoon)).then(pause);
      if (mine === turn) await fetchAll(can.filter((need) => isEarly(need) && !(typing && isSoon(need))));
      if (mine === turn) await fetchAll(can.filter((need) => AFTER.has(need)));
      for (const need of LAST) if (mine === turn && can.includes(need)) await fetchAll([need]);
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

  /** Cancels what is being loaded: there is nothing to show any more. */
  const cancel = () => void turn++;

  /**
   * Prefetches what another view of the same run will need, once everything visible has arrived. What fails is
   * requested again when it is needed.
   * @param {State} state @param {string[]} needs
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

/** The views whose code is needed. @param {Set<string>} needs */
const codeAmong = (needs) => byKind([...needs]).find(([kind]) => kind === "code")?.[1] ?? [];
