/** From a state to a trace, in steps: the overview first, then what the visible panels need, including their code. */

import { modelTrace } from "./model_trace.js";
import { asNeeds, byFetcher, byKind, createFetchers, isHere, needCalled } from "./needs.js";
import { keyOf, withTarget } from "./request.js";
import { oncePainted } from "./traces.js";

/**
 * @import { State } from "../state/store.js"
 * @import { Waiting } from "./ask.js"
 * @import { ModelTrace } from "./model_trace.js"
 * @import { Bring, Need } from "./needs.js"
 */

/**
 * @typedef {Parameters<typeof modelTrace>[0]} Parts
 * @typedef {(need: string|string[], fields: Partial<Parts>) => void} Deliver  these needs are met: by these parts
 */

/** How long there must be no newer request before these are sent, so that nothing is requested between keystrokes. */
const PAUSE_MS = 150;

/** If the next text is typed within this time, only the first picture is drawn. Milliseconds. */
const TYPING_MS = 400;

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

/** How long what is known of another head waits for its numbers, so that both are drawn at once. Milliseconds. */
const WAIT_MS = 50;

/** How long at most everything else waits until another head's picture is painted. Milliseconds. */
const PAINT_MS = 150;

/** Long enough that someone who steps once a second, or types, asks for nothing of it. Milliseconds. */
const QUIET_MS = 1200;

/** Long enough to be sure that no other key follows at once. */
const pause = (ms = PAUSE_MS) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * @param {ReturnType<typeof import("./traces.js").createTraces>} traces
 * @param {{modelNamed: (name: string|null) => any, bring: Bring, onWait: (waiting: Waiting) => void}} page
 *   `modelNamed`: a line of /api/models; `bring`: the code of these views
 */
export function createLoader(traces, { modelNamed, bring, onWait }) {
  let [turn, asked] = [0, ""];
  let shownState = /** @type {State|null} */ (null); // the last whose trace was drawn
  let shownHead = false; // and whether a head was open
  const later = createLater(traces);
  const isTyped = createTypist();
  const fetchers = createFetchers(traces, bring, onWait);

  /**
   * Load what `needs` names. `onTrace` is called when the overview is here and whenever more is, with the needs that the
   * trace has by then; never for a state that is not the newest any more. `alone`: only for the numbers of another head in the open
   * view, or of the same under another mask ("picture"), or of a head where none was open ("place"): its picture is painted
   * before everything else is drawn, unless it returns false: it cannot be drawn yet, or not by itself.
   * @param {State} state
   * @param {Set<string>} needs
   * @param {(trace: ModelTrace, available: Set<string>, alone?: ""|"picture"|"place") => void|boolean} onTrace
   * @param {boolean} [atOnce]  what is known is shown before more has arrived
   * @returns {Promise<boolean>} false: something newer has been asked for meanwhile
   */
  async function load(state, needs, onTrace, atOnce = false) {
    const thisTurn = ++turn;
    const typing = isTyped(state);
    if (asked && keyOf(state) !== asked) traces.abandon();
    asked = keyOf(state);
    const all = [...needs].map(needCalled);
    bring(state, namesOf("code", all)).catch(() => {}); // with the overview; what fails is asked for again below
    try {
      const overview = await (typing
        ? traces.overview(state)
        : traces.overview(state, needs.has("detail"), namesOf("tensor", all)));
      if (thisTurn !== turn) return false;
      const { model = modelNamed(overview.meta.model) } = overview; // a file brings its own
      const key = keyOf(state);
      /** @type {Parts} */
      const parts = { key, model, overview, attention: state.attention, explained: later.known(key) };
      const pinned = withTarget(state, overview.meta);
      /** @type {Set<string>} */
      const available = new Set(asNeeds("explain", Object.keys(parts.explained ?? {})));
      const shown = createGathering(() => {
        if (thisTurn !== turn) return;
        [shownState, shownHead] = [state, needs.has("detail")];
        onTrace(modelTrace(parts), available);
      });
      /** @type {Deliver} */
      const deliver = (need, fields) => {
        if (thisTurn !== turn) return;
        Object.assign(parts, fields, { explained: { ...parts.explained, ...fields.explained } });
        for (const one of [need].flat()) available.add(one);
        const alone = opens && !opening && available.has("detail") ? drawnFirst(shownState, state, shownHead) : "";
        const first = alone && onTrace(modelTrace(parts), available, alone) !== false;
        if (first) {
          opening = oncePainted(null);
          shown.within(PAINT_MS);
        }
        shown.add(first ? PAINT_MS : 0);
      };
      const effects = all.find(({ kind }) => kind === "ablations");
      const known = effects && traces.knownAblations(pinned, modelTrace(parts));
      if (known) {
        parts.ablations = known;
        available.add(effects.need);
      }
      for (const one of all) if (isHere(one, modelTrace(parts))) available.add(one.need);
      const can = all.filter(({ need }) => modelTrace(parts).lacks(need) === null && !available.has(need));
      const opens = !atOnce && isAlike(shownState, state) && can.some(({ kind }) => kind === "detail");
      /** @type {Promise<null>|null} */
      let opening = null;
      shown.add(opens ? WAIT_MS : 0); // so that cached data is drawn together with the overview
      const { pool } = modelTrace(parts);
      const due = (/** @type {Need["when"]} */ when) => can.filter((one) => one.when === when);
      /** @param {Need[]} some */
      const fetchAll = (some) =>
        Promise.all(byFetcher(some).map(([kind, names]) => fetchers[kind](pinned, modelTrace(parts), deliver, names)));
      try {
        if (typing) await fetchAll(can.filter(({ whileTyping }) => whileTyping)).then(() => pause());
        if (thisTurn === turn) await fetchAll(due("head").filter(({ whileTyping }) => !(typing && whileTyping)));
        await opening;
        if (opens) shown.within(0);
        const [together, alone] = pool > 1 ? [[], due("passes")] : [due("passes"), []];
        if (thisTurn === turn) await fetchAll([...due("after"), ...together]);
        for (const need of [...alone, ...due("last")]) if (thisTurn === turn) await fetchAll([need]);
      } finally {
        shown.end();
      }
      const last = namesOf("explain", due("later"));
      const quiet = due("quiet");
      // What fails is only not drawn.
      if (quiet.length) pause(QUIET_MS).then(() => (thisTurn === turn ? fetchAll(quiet).catch(() => {}) : null));
      if (last.length) pause().then(() => thisTurn === turn && later.ask(pinned, modelTrace(parts), last, deliver));
    } catch (error) {
      if (thisTurn === turn) throw error;
    }
    return thisTurn === turn;
  }

  /** Cancels what is being loaded: there is nothing to show any more. */
  const cancel = () => {
    turn++;
    if (asked) traces.abandon();
    asked = "";
  };

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
    const can = needs
      .map(needCalled)
      .filter((one) => one.ahead && trace.lacks(one.need) === null && !isHere(one, trace));
    const pinned = withTarget(state, overview.meta);
    await Promise.allSettled(
      byKind(can).map(([kind, names]) => fetchers[kind](pinned, trace, () => {}, names, "soon_")),
    );
  }

  /** Whether the first picture of a state is here: it is drawn in this turn. @param {State} state */
  const knows = (state) => state.file === null && traces.knowsOverview(state);

  return { load, cancel, soon, knows };
}

/** Whether it is the same run, except for its masks. @param {State|null} was @param {State} now */
const isAlike = (was, now) =>
  was !== null && keyOf({ ...was, causal: now.causal, padMask: now.padMask }) === keyOf(now);

/**
 * What of a head is drawn before the rest: its picture, or its place too; nothing where something is to be guessed, or more is new than the
 * head or a mask. @param {State|null} was @param {State} now @param {boolean} hadHead
 */
function drawnFirst(was, now, hadHead) {
  if (was === null || now.quiz || now.lesson !== null) return "";
  if (!hadHead) return "place";
  const isNew = was.layer !== now.layer || was.head !== now.head || keyOf(was) !== keyOf(now);
  return isNew && was.attention === now.attention && was.view === now.view ? "picture" : "";
}

/** Draws once what arrives together: all cached data arrives before the browser's next task. @param {() => void} show */
function createGathering(show) {
  let timer = 0;
  /** @type {any[]} */
  const mistakes = [];
  const now = () => {
    clearTimeout(timer);
    timer = 0;
    try {
      show();
    } catch (error) {
      mistakes.push(error);
    }
  };
  return {
    /** Call when there is something new to show. @param {number} [ms]  how long it may wait for more */
    add(ms = 0) {
      timer ||= setTimeout(now, ms);
    },
    /** What waits for more waits so long from now. @param {number} ms */
    within(ms) {
      clearTimeout(timer);
      timer &&= setTimeout(now, ms);
    },
    /** Shows what is new at once, because nothing more will come. Throws errors that happened on the way. */
    end() {
      if (timer) now();
      if (mistakes.length) throw mistakes[0];
    },
  };
}

/** @param {string} kind @param {Need[]} needs */
const namesOf = (kind, needs) => needs.filter((one) => one.kind === kind).map(({ name }) => name);

/**
 * Explanations that no picture waits for.
 * @param {ReturnType<typeof import("./traces.js").createTraces>} traces
 */
function createLater(traces) {
  /** @type {{key: string, explained: Object<string, any>}} of the last sentence for which they came */
  let late = { key: "", explained: {} };

  /**
   * If it fails, the place of the explanation says so.
   * @param {State} state @param {ModelTrace} trace @param {string} what @param {Deliver} deliver
   */
  async function askOne(state, trace, what, deliver) {
    const answer = await traces.explain(state, trace, what).catch((/** @type {any} */ error) => {
      if (error.name === "AbortError") return null;
      if (!error.code) console.error(error); // not an error of the server
      return { refused: error };
    });
    if (answer && !answer.refused) late = { key: trace.key, explained: { [what]: answer } };
    if (answer) deliver(`explain:${what}`, { explained: { [what]: answer } });
  }

  return {
    /** What has arrived for this sentence; another selection in it can use it at once. @param {string} key */
    known: (key) => (late.key === key ? late.explained : {}),
    /** @param {State} state @param {ModelTrace} trace @param {string[]} names @param {Deliver} deliver */
    ask: (state, trace, names, deliver) => names.forEach((name) => void askOne(state, trace, name, deliver)),
  };
}
