/**
 * Step, Play and Pause. No DOM: `onChange` says that there is something to draw. Step asks the server for one token,
 * Play for as many as are left. The next token depends only on the tokens before it, the settings and the seed, so
 * both give the same text.
 */

import { ApiError } from "../../data/api.js";
import { lazy } from "../../data/lazily.js";
import { N_CANDIDATES, writingRequest } from "../../data/request.js";
import { followsQuery, queryAt } from "../../model/written.js";
import { sameValue as same } from "../../state/own.js";
import { own } from "./own.js";

const steps = lazy(() => import("./steps.js"));

/** Milliseconds that Play waits after a step is drawn. */
export const PACES = { slow: 1000, normal: 300, fast: 0 };

const FRAME = 16;
/** In milliseconds: a picture that takes longer (the server does not respond) does not delay the text. */
const LONGEST_DRAW = 1000;

/**
 * @param {ReturnType<typeof import("./session.js").createSession>} session
 * @param {{get: () => import("../../state/store.js").State, onChange: () => void, isDrawn: () => boolean}} page  * `isDrawn`: the last step is drawn completely
 */
export function createPlayer(session, { get, onChange, isDrawn }) {
  const player = {
    /** @type {"idle"|"step"|"play"} */ doing: "idle",
    /** @type {any} */ error: null,
    /** @type {"step"|"play"} the error, for another try */ failed: "step",
    /** The number of tokens of one Play. */ length: () => own.of(get()).length,
    step: () => run("step"),
    play: () => run("play"),
    retry: () => run(player.failed),
    pause: () => finish({}),
    goal: () => goalOf(session.path(), player.length()),
  };
  let running = new AbortController();

  function finish(fields) {
    running.abort(); // closes the connection, which stops the server's work
    Object.assign(player, { doing: "idle" }, fields);
    onChange();
  }

  /** @param {"step"|"play"} doing */
  async function run(doing) {
    if (player.doing !== "idle" || session.blocked()) return;
    running = new AbortController();
    const { signal } = running;
    Object.assign(player, { doing, error: null });
    onChange();
    try {
      await steps.load();
      while (await stream(doing, signal));
      if (!signal.aborted) finish({});
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError)) console.error(error);
      finish({ error, failed: doing });
    }
  }

  /**
   * Shows the steps of one request one after another. Any other change of the path takes precedence.
   * @returns {Promise<boolean>} whether the settings changed meanwhile, so that the rest must be requested again
   */
  async function stream(doing, signal) {
    const path = /** @type {import("./paths.js").Path} */ (session.path());
    const settings = settingsOf(get());
    const count = doing === "step" ? 1 : goalOf(path, player.length()) - path.ids.length + path.nPrompt;
    const left = new AbortController(); // the loop ended, for any reason
    const { stepsOf } = /** @type {typeof import("./steps.js")} */ (steps.code);
    const coming = stepsOf(requestOf(path, get(), session.model(), count), AbortSignal.any([signal, left.signal]));
    let { ids } = path;
    let isFirst = true;
    try {
      for await (const step of coming) {
        if (!isFirst) await look(signal);
        const looksElsewhere =
          !isFirst &&
          followsQuery(get(), session.model()) &&
          get().query !== queryAt(get(), session.model(), ids.length - 1);
        if (signal.aborted || looksElsewhere || !same(session.path()?.ids, ids)) return false;
        if (!same(settingsOf(get()), settings)) return true;
        isFirst = false;
        ids = session.advance(path, step);
        onChange();
      }
    } finally {
      left.abort();
    }
    return false;
  }

  /** Waits so that a step can be seen: the page draws it first, and handles input meanwhile. */
  async function look(signal) {
    const longest = performance.now() + LONGEST_DRAW;
    do await pause(FRAME, signal);
    while (!isDrawn() && !signal.aborted && performance.now() < longest);
    await pause(PACES[own.of(get()).pace], signal);
  }

  return player;
}

/** How many new tokens Play goes up to: the next multiple of `length`. @param {import("./paths.js").Path|null} path */
function goalOf(path, length) {
  const done = path ? path.ids.length - path.nPrompt : 0;
  return length * (Math.floor(done / length) + 1);
}

/**
 * @param {import("./paths.js").Path} path
 * @param {import("../../state/store.js").State} state @param {any} of  the model @param {number} count
 */
function requestOf({ ids }, state, of, count) {
  const { temperature, topK: top_k, topP: top_p, seed } = state;
  const settings = { temperature, top_k, top_p, seed };
  const run = writingRequest(state, ids, of);
  return { ...run, ...settings, max_new_tokens: count, n: N_CANDIDATES, rows: true };
}

/** @param {import("../../state/store.js").State} state */
function settingsOf({ temperature, topK, topP, seed, causal, interventions }) {
  return [temperature, topK, topP, seed, causal, interventions];
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
