/**
 * What attention knockouts do to the answer: measured effects, by question, and the edges that matter most. Only the newest
 * question is measured, after a short pause; results of older ones are kept. No DOM.
 */

import { createLru, retrying } from "../data/ask.js";
import { measure } from "../data/streams.js";
import { rowOfShares, sumOfParts } from "../model/contribution_rollout.js";
import { edgeKey, plainEdge } from "../model/interventions.js";

/**
 * @import { Effect } from "../data/streams.js"
 * @import { Flow } from "../data/wire.js"
 * @import { Rollout } from "../model/contribution_rollout.js"
 * @import { SideName } from "../model/description.js"
 * @import { Edge } from "../model/interventions.js"
 */

/** @param {Flow} flow @param {number} layer @param {number} query @param {number} key */
function shareAt(flow, layer, query, key) {
  const { from, length } = rowOfShares(flow, layer, query);
  return key < length ? flow.share[from + key] : 0;
}

/**
 * The edges from the chosen token to another, in all layers, without those that a mask forbids.
 * @param {Rollout} rollout  of the answering stack @param {number} row  the chosen token
 * @param {SideName} side  of the other token @param {number} key
 * @returns {Edge[]}
 */
export function edgesTo({ flows, river }, row, side, key) {
  return flows
    .filter(({ flow }) => flow.keys === side && !(side === river.side && key === row))
    .flatMap(({ flow }) =>
      Array.from({ length: river.layers }, (_, layer) => ({
        attention: flow.attention,
        layer,
        query: row,
        key,
      })).filter(({ layer }) => shareAt(flow, layer, row, key) > 0),
    );
}

/**
 * All edges from the chosen token to the token whose edges, knocked out one by one, lower the answer most; [] if none does.
 * In a translation: to the source token that brings most.
 * @param {Rollout} rollout  of the answering stack @param {number} row @param {Map<string, Effect>} effects
 * @returns {Edge[]}
 */
export function decidingEdges(rollout, row, effects) {
  const source = edgesToSource(rollout, row);
  if (source.length) return source;
  const sides = new Map(rollout.flows.map(({ flow }) => [flow.attention, flow.keys]));
  /** @type {Map<string, {side: SideName, key: number, fall: number}>} */
  const falls = new Map();
  for (const { attention, query, key, head, delta } of effects.values()) {
    const side = sides.get(attention);
    if (!side || query !== row || head !== undefined) continue;
    const known = falls.get(`${side} ${key}`) ?? { side, key, fall: 0 };
    falls.set(`${side} ${key}`, { ...known, fall: known.fall - delta });
  }
  const [most] = [...falls.values()].sort((a, b) => b.fall - a.fall);
  return most && most.fall > 0 ? edgesTo(rollout, row, most.side, most.key) : [];
}

/**
 * Of a translation: all edges from the chosen row to the source token of which most reaches it through cross-attention. What is
 * written there comes from it, also where the same is known by another way, so that hiding it hardly matters.
 * @param {Rollout} rollout  of the answering stack @param {number} row
 * @returns {Edge[]}
 */
export function edgesToSource(rollout, row) {
  const { flows, river, taken } = rollout;
  const source = flows.find(({ flow }) => flow.keys !== river.side)?.flow.keys;
  if (!source || !taken) return [];
  const brought = sumOfParts(taken, taken[0].length);
  return edgesTo(rollout, row, source, brought.indexOf(Math.max(...brought)));
}

/**
 * @typedef {Object} Measured
 * @property {{answer: number, p: number}|null} start  the answer, and its probability as the run is
 * @property {Map<string, Effect>} effects  by edge
 * @property {boolean} done @property {boolean} [idle]  it waits until it is asked for
 * @property {boolean} [decided]  what decides most was looked for
 * @property {{edges: Edge[], p: number}|null} deciding  the edges, in all layers, to the token that matters most, and the answer's probability without them
 * @property {Map<string, number|null>} [together]  by edges: the answer without all of them; null: it is being measured
 * @property {string[]} [refused]  keys of edges that cannot be measured
 * @property {any} error
 */

/** Between two keystrokes nothing is measured. Milliseconds. */
const PAUSE = 250;

/** How long the pointer rests on a line before it is measured. Milliseconds. */
const REST = 120;

/** @param {() => void} onChange  there is something new */
export function createKnockoutMeasuring(onChange) {
  const known = createLru(/** @type {any} */ (8));
  let asked = "";
  let running = new AbortController();
  let wishing = new AbortController();
  let celling = new AbortController();
  let cellAsked = "";
  let [timer, wish] = [0, 0];
  let wished = /** @type {Edge[]} */ ([]);
  /** Whether the effect of what decides most is shown. */
  let decides = true;
  /** The newest question of the run without some edges, too. */
  let withoutThem = (/** @type {Edge[]} */ _) => /** @type {object} */ ({});
  /** Measures the newest question that waits. */
  let begin = () => {};

  /**
   * @param {object} request  to /api/explain/effects @param {(effects: Map<string, Effect>) => Edge[]} lookOf
   * @param {(edges: Edge[]) => object} without  the request about the run without these edges, too
   * @param {Measured} measured @param {AbortSignal} signal
   */
  async function run(request, lookOf, without, measured, signal) {
    const key = JSON.stringify(request);
    /** @param {object} question @param {Pick<Parameters<typeof measure>[1], "onStart"|"onEffect">} on */
    const ask = (question, on) => retrying(() => measure(question, { signal, ...on }), { signal });
    try {
      if (!measured.done)
        await ask(request, {
          onStart: (start) => Object.assign(measured, { start }),
          onEffect(one) {
            measured.effects.set(edgeKey(one), one);
            onChange();
          },
        });
      measured.done = true;
      onChange();
      if (!signal.aborted) wishFor(wished); // what was pointed at meanwhile
      if (!decides) return;
      measured.decided = true;
      const edges = lookOf(measured.effects);
      if (!edges.length || !measured.start) return;
      const question = { ...without(edges), answer: measured.start.answer, edges: [] };
      await ask(question, { onStart: ({ p }) => Object.assign(measured, { deciding: { edges, p } }), onEffect() {} });
    } catch (error) {
      if (signal.aborted) return forget(key, measured);
      measured.error = error;
      measured.done = true;
    }
    onChange();
  }

  /** What was not finished is measured again when it is shown again. @param {string} key @param {Measured} measured */
  function forget(key, measured) {
    if (measured.done) measured.decided = false;
    else known.drop(key, measured);
  }

  /** What measures those of some edges that are not known, for the newest question. @param {Edge[]} edges @param {AbortSignal} signal */
  function asking(edges, signal) {
    const measured = /** @type {Measured|undefined} */ (known.get(asked));
    const missing = edges.filter((edge) => !measured?.effects.has(edgeKey(edge)));
    if (!missing.length || !measured?.done || measured.error) return null;
    const request = { ...JSON.parse(asked), answer: measured.start?.answer ?? null, edges: missing.map(plainEdge) };
    /** @param {Effect} one */
    const onEffect = (one) => {
      measured.effects.set(edgeKey(one), one);
      onChange();
    };
    return () =>
      void measure(request, { signal, onStart() {}, onEffect }).catch(() => {
        if (signal.aborted) return;
        measured.refused = [...(measured.refused ?? []), ...missing.map(edgeKey)]; // it stays unmeasured
        onChange();
      });
  }

  /**
   * Also measures edges that are not among the widest, for the newest question and once that is measured. Newer ones replace older ones
   * that are still waiting.
   * @param {Edge[]} edges  []: none is needed any more
   */
  function wishFor(edges) {
    clearTimeout(wish);
    wishing.abort();
    wishing = new AbortController();
    wished = edges;
    const ask = asking(edges, wishing.signal);
    if (ask) wish = Number(setTimeout(ask, REST));
  }

  return {
    /**
     * What is known about a question; what is missing is measured.
     * @param {object} request @param {Parameters<typeof run>[1]} lookOf @param {Parameters<typeof run>[2]} without
     * @param {{waits?: boolean, whole?: boolean}} [how]  `waits`: until `begin`; `whole`: also what decides most
     * @returns {Measured}
     */
    of(request, lookOf, without, { waits = false, whole = true } = {}) {
      const key = JSON.stringify(request);
      const found = /** @type {Measured|undefined} */ (known.get(key));
      [decides, withoutThem] = [whole, without];
      const isComplete = found?.done ? !whole || Boolean(found.decided) : key === asked;
      if (found && key === asked && isComplete) return found;
      running.abort();
      clearTimeout(timer);
      if (key !== asked) wishFor([]); // the edges were another question's
      asked = key;
      if (found?.done) {
        running = new AbortController();
        if (!isComplete && !found.error) run(request, lookOf, without, found, running.signal);
        return found;
      }
      /** @type {Measured} */
      const measured = { start: null, effects: new Map(), done: false, deciding: null, error: null, idle: waits };
      known.set(key, measured);
      running = new AbortController();
      const { signal } = running;
      begin = () => {
        measured.idle = false;
        run(request, lookOf, without, measured, signal);
      };
      if (!waits) timer = Number(setTimeout(begin, PAUSE));
      return measured;
    },

    begin: () => begin(),

    also: wishFor,

    /** The answer's probability without all of these edges, in one request; null: it is not here yet. @param {Edge[]} edges @returns {number|null} */
    together(edges) {
      const measured = /** @type {Measured|undefined} */ (known.get(asked));
      if (!measured?.done || !measured.start || measured.error) return null;
      measured.together ??= new Map();
      const all = measured.together;
      const key = edges.map(edgeKey).join();
      if (!all.has(key)) {
        all.set(key, null);
        const { signal } = running;
        const onStart = (/** @type {{p: number}} */ { p }) => {
          all.set(key, p);
          onChange();
        };
        const request = { ...withoutThem(edges), answer: measured.start.answer, edges: [] };
        measure(request, { signal, onStart, onEffect() {} }).catch(() => signal.aborted && all.delete(key));
      }
      return all.get(key) ?? null;
    },

    /** Also measures the edges of the open cell, which stay wanted. @param {Edge[]} edges */
    cell(edges) {
      const key = `${asked} ${edges.map(edgeKey)}`;
      if (key === cellAsked) return;
      const newer = new AbortController();
      const ask = asking(edges, newer.signal);
      if (!ask) return; // nothing is missing, or the question itself is still measured
      celling.abort();
      [celling, cellAsked] = [newer, key];
      ask();
    },

    /** Stops measuring. */
    stop() {
      running.abort();
      celling.abort();
      clearTimeout(timer);
      wishFor([]);
      asked = cellAsked = "";
    },
  };
}

/** A head that takes this share of what the first takes carries the line, too, where that is so much of the probability. */
const [CARRIES, FELT] = [0.25, 0.005];

/**
 * The heads that carry a line, most first: without the edge in them, the answer falls most. [] where one is not measured.
 * @template {{p: number}} One @param {One[]} heads  `p`: of the answer without the edge in this head; NaN: not measured
 * @param {number} before  of the answer with it @returns {One[]}
 */
export function carriersIn(heads, before) {
  if (!heads.length || heads.some(({ p }) => Number.isNaN(p))) return [];
  const [first, ...rest] = heads.toSorted((a, b) => a.p - b.p);
  const loss = before - first.p;
  return [first, ...rest.filter(({ p }) => loss >= FELT && before - p >= CARRIES * loss)];
}
