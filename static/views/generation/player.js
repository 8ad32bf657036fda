/**
 * Step, Keep writing and Stop. No DOM: `onChange` is called when there is something to draw. Step requests one token,
 * Keep writing as many as are left. The next token depends only on the tokens before it, the settings and the seed, so
 * both give the same text.
 */

import { ApiError } from "../../data/api.js";
import { retrying } from "../../data/ask.js";
import { N_CANDIDATES, samplingOf, writingRequest } from "../../data/request.js";
import { generationEvents } from "../../data/streams.js";
import { memo } from "../../model/memo.js";
import { followsQuery, goingOn, queryAt } from "../../model/written.js";
import { sameValue as same } from "../../state/view_state.js";
import { cacheState, generationState, LONGEST_CONTINUATION } from "../view_states.js";
import { createSession } from "./session.js";

/**
 * @import { Waiting } from "../../data/ask.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Path, Session } from "./session.js"
 */

// How fast a generation is shown.

/** Milliseconds that Keep writing waits after a step is drawn. */
export const GENERATION_PACES = { slow: 1000, normal: 300, fast: 0 };

const FRAME = 16;
/** In milliseconds: a picture that takes longer (the server does not respond) does not delay the text. */
const LONGEST_DRAW = 1000;

/**
 * Waits so that a step can be seen: the page draws it first, and handles input meanwhile.
 * @param {keyof typeof GENERATION_PACES} pace @param {() => boolean} isDrawn @param {AbortSignal} signal
 */
async function pauseAfterStep(pace, isDrawn, signal) {
  const longest = performance.now() + LONGEST_DRAW;
  do await pause(FRAME, signal);
  while (!isDrawn() && !signal.aborted && performance.now() < longest);
  await pause(GENERATION_PACES[pace], signal);
}

/** Waits until the time is over or the signal aborts. @param {number} milliseconds @param {AbortSignal} signal */
function pause(milliseconds, signal) {
  if (milliseconds === 0 || signal.aborted) return undefined;
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    const stop = () => {
      clearTimeout(timer);
      resolve(undefined);
    };
    signal.addEventListener("abort", stop, { once: true });
  });
}

/** @typedef {"step"|"play"|"type"} Doing */

/** How often the rest of a broken stream is requested, at once and then after waits, before the reader has to do it. */
const TRIES = 4;

/**
 * @param {ReturnType<typeof import("./session.js").createSession>} session
 * @param {{get: () => State, onChange: () => void, isDrawn: () => boolean}} page  * `isDrawn`: the last step is drawn completely
 */
export function createGenerationPlayer(session, { get, onChange, isDrawn }) {
  const player = {
    /** @type {"idle"|Doing} */ doing: "idle",
    /** @type {any} */ error: null,
    /** @type {Doing} the error, for another try */ failed: "step",
    /** What is being typed after how many ids; null: nothing. @type {{text: string, from: number}|null} */ typed: null,
    /** The number of tokens of one Play. */ length: () => generationState.of(get()).length,
    step: () => run("step"),
    /** @param {number} [length]  of the text, in tokens; by default so many more as one Play writes */
    play: (length) => run("play", length),
    /** Appends the tokens of a text, as if they were drawn. @param {string} text */
    type(text) {
      const { ids } = session.path() ?? {};
      if (!text || !ids?.length) return undefined;
      player.typed = { text: goingOn(text, session.word(ids[ids.length - 1])), from: ids.length };
      return run("type");
    },
    retry: () => run(player.failed),
    pause: () => finish({}),
    /** The request that writes so many tokens after what is written. @param {Path} path @param {number} count */
    request: (path, count) => requestOf(path, get(), session.model(), count, beginOf(path)),
    goal: () => goalOf(session.path(), player.length()),
    /** Shows the draw of a step that is coming; the dock sets it. @type {(signal: AbortSignal) => Promise<void>|void} */ land: () => {},
  };
  let running = new AbortController();

  /** @param {{error?: unknown, failed?: Doing}} fields */
  function finish(fields) {
    running.abort(); // closes the connection, which stops the server's work
    Object.assign(player, { doing: "idle" }, fields);
    onChange();
  }

  /** @param {Doing} doing @param {number} [length]  up to which it plays */
  async function run(doing, length) {
    if (player.doing !== "idle" || session.blocked()) return;
    running = new AbortController();
    const { signal } = running;
    Object.assign(player, { doing, error: null });
    const [from, now] = [session.from(), session.path()];
    if (doing !== "type") player.typed = null;
    if (from && now && from.ids.length < now.ids.length) session.go(from);
    onChange();
    const far = () => (length === undefined ? player.goal() : length - (session.path()?.nPrompt ?? 0));
    const goal = { step: () => doneOf(session.path()) + 1, type: longestTyped, play: far }[doing]();
    const onWait = (/** @type {Waiting} */ waiting) => {
      player.error = waiting?.seconds ? new ApiError({ code: waiting.code, status: 503 }) : null;
      onChange();
    };
    try {
      let isMore = await stream(goal, signal); // a server that never answered is reported at once
      while (isMore) isMore = await retrying(() => stream(goal, signal), { signal, tries: TRIES, onWait });
      if (!signal.aborted) finish({});
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError)) console.error(error);
      finish({ error, failed: doing });
    }
  }

  /**
   * Shows the steps of one request one after another. Any other change of the path takes precedence.
   * @param {number} goal @param {AbortSignal} signal @returns {Promise<boolean>} whether the rest must be requested again: the settings changed meanwhile, or the stream
   *   broke after some steps
   */
  async function stream(goal, signal) {
    const path = /** @type {Path} */ (session.path());
    const settings = settingsOf(get());
    const count = goal - doneOf(path);
    if (count <= 0) return false;
    const left = new AbortController(); // the loop ended, for any reason
    const coming = generationEvents(
      requestOf(path, get(), session.model(), count, player.typed ?? beginOf(path)),
      AbortSignal.any([signal, left.signal]),
    );
    // The number falls while its token is computed; while Play runs fast, there is no time to see it.
    const falls = async () => {
      const isSeen = player.doing === "step" || (player.doing === "play" && generationState.of(get()).pace !== "fast");
      if (isSeen) await player.land(signal);
    };
    const first = falls();
    let { ids } = path;
    let isFirst = true;
    try {
      for await (const step of coming) {
        if (player.typed && step.u !== null) return false; // all of it is written
        if (!isFirst) await pauseAfterStep(player.typed ? "fast" : generationState.of(get()).pace, isDrawn, signal);
        if (!isFirst) await falls();
        else await first;
        const looksElsewhere =
          !isFirst &&
          followsQuery(get(), session.model()) &&
          get().query !== queryAt(get(), session.model(), ids.length - 1);
        if (signal.aborted || looksElsewhere || !same(session.path()?.ids, ids)) return false;
        if (!same(settingsOf(get()), settings)) return true;
        isFirst = false;
        ids = session.advance(path, player.typed ? { ...step, typed: true } : step);
        onChange();
      }
    } catch (error) {
      if (isFirst || signal.aborted || !isTemporary(error)) throw error;
      return true;
    } finally {
      left.abort();
    }
    return false;
  }

  /** How the answer begins, as it goes on from the prompt. @param {Path} path */
  function beginOf({ ids, nPrompt }) {
    const { begin } = get();
    return { text: begin && goingOn(begin, session.word(ids[nPrompt - 1])), from: nPrompt };
  }

  /** At most, the tokens of the typed text: its bytes. */
  function longestTyped() {
    const { text = "", from = 0 } = player.typed ?? {};
    const nPrompt = session.path()?.nPrompt ?? 0;
    return from - nPrompt + Math.min(new TextEncoder().encode(text).length, LONGEST_CONTINUATION);
  }

  return player;
}

/** How many new tokens Play goes up to: the next multiple of `length`. @param {Path|null} path @param {number} length */
function goalOf(path, length) {
  return length * (Math.floor(doneOf(path) / length) + 1);
}

/** How many new tokens there are. @param {Path|null} path */
const doneOf = (path) => (path ? path.ids.length - path.nPrompt : 0);

/** Whether another server, or the same one later, may go on. @param {unknown} error */
const isTemporary = (error) =>
  error instanceof ApiError && (error.status === 503 || ["unreachable", "stopping", "full"].includes(error.code));

/**
 * @param {Path} path
 * @param {State} state @param {any} of  the model @param {number} count @param {{text: string, from: number}} begin  what comes first, after how
 *   many ids
 */
function requestOf({ ids }, state, of, count, { text: begin, from }) {
  const { stop } = state;
  const run = writingRequest(state, ids, of);
  const request = {
    ...run,
    ...samplingOf(state),
    seed: state.seed,
    max_new_tokens: count,
    n: N_CANDIDATES,
    rows: true,
    ...(!cacheState.of(state).on && { cache: false }),
  };
  return { ...request, ...(stop.length && { stop }), ...(begin && { begin, n_written: ids.length - from }) };
}

/** @param {State} state */
function settingsOf(state) {
  const { seed, stop, begin, causal, interventions } = state;
  return [...Object.values(samplingOf(state)), seed, stop, begin, causal, interventions, cacheState.of(state).on];
}

// What the dock and the panel of generation share: the paths of a page, and what writes on.

/** @param {Actions} actions @returns {{session: Session, player: ReturnType<typeof createGenerationPlayer>, onChange: (draw: () => void) => void}} */
export const writerOf = memo(
  (/** @type {Actions} */ actions) => {
    /** @type {Set<() => void>} */
    const draws = new Set();
    const session = createSession(actions);
    const player = createGenerationPlayer(session, {
      get: actions.get,
      onChange: () => draws.forEach((draw) => draw()),
      isDrawn: () => !actions.isLoading(),
    });
    return { session, player, onChange: (/** @type {() => void} */ draw) => void draws.add(draw) };
  },
  ({ page }) => [page],
);
