/**
 * What the generation panel knows besides state and trace: what was undone, the branches, and how each token was
 * drawn. It lasts as long as the page; a link has the tokens themselves.
 */

import { requestOf } from "../../data/request.js";
import { offsetOf } from "../../model/compare/runs.js";
import { writesTarget } from "../../model/description.js";
import { rowOf, sharedLength } from "../../model/selection.js";
import { followsQuery, showingIds, writingSide } from "../../model/written.js";

/**
 * @import { ModelTrace, Prediction } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 */

/**
 * @typedef {{model: string|null, text: string, ids: number[], nPrompt: number, given?: boolean, typed?: boolean}} Path
 *   `text`: the typed sentence; `given`: no token was taken yet; `typed`: the reader wrote all of it
 * @typedef {{tip: Path|null, left: Path[]}} Paths  `tip`: the shown path with its undone tokens; `left`: the paths
 *   abandoned by taking another token, newest first
 */

/** @type {Paths} */
const NO_PATHS = { tip: null, left: [] };

/** At most this many are kept; the oldest is dropped. */
const MOST = 12;

/**
 * Going back along the tip keeps it, going on extends it, and anything else abandons it, so it is kept as a branch.
 * @param {Paths} paths @param {Path} path @returns {Paths}
 */
function visit({ tip, left }, path) {
  if (!tip) return { tip: path, left };
  if (sameSentence(tip, path)) {
    if (startsWith(tip.ids, path.ids)) return { tip, left };
    if (startsWith(path.ids, tip.ids)) return { tip: path, left };
  }
  // A sentence that was replaced by typing is a branch only if something was generated from it.
  const worth = sameSentence(tip, path) || (!tip.given && tip.ids.length > tip.nPrompt);
  const others = left.filter((other) => !covers(path, other) && !covers(tip, other));
  const kept = worth && !covers(path, tip) ? [tip, ...others] : others;
  return { tip: path, left: kept.slice(0, MOST) };
}

/** The ids undone from `path`, which Step would replay. @param {Paths} paths @param {Path} path */
function undone({ tip }, path) {
  return tip && covers(tip, path) ? tip.ids.slice(path.ids.length) : [];
}

/** The branches of the sentence that `path` belongs to. @param {Paths} paths @param {Path} path */
function branchesOf({ left }, path) {
  return left.filter((branch) => sameSentence(branch, path) && !covers(path, branch));
}

/** Whether `long` begins with all of `short`. @param {number[]} long @param {number[]} short */
function startsWith(long, short) {
  return sharedLength(long, short) === short.length;
}

/** Whether `a` contains everything in `b`. @param {Path} a @param {Path} b */
function covers(a, b) {
  return sameSentence(a, b) && startsWith(a.ids, b.ids);
}

/** @param {Path} a @param {Path} b */
function sameSentence(a, b) {
  return a.model === b.model && a.text === b.text;
}

/** @param {Actions} actions */
export function createSession(actions) {
  let paths = NO_PATHS;
  /** @type {ModelTrace|null} */
  let trace = null;
  /** @type {Map<number, any>} how to write a token with this id */
  const words = new Map();
  /** @type {Map<string, any>} the step that drew a token, by the ids up to and including it */
  const draws = new Map();

  /** The ids that are shown or about to be; null while a new sentence is being read. @returns {Path|null} */
  function path() {
    const { model, text, ids, nPrompt, targetIds } = actions.get();
    if (!trace?.written || trace.model.name !== model) return null;
    const isTarget = writesTarget(trace.model);
    const start = { model, text: isTarget ? sourceOf(actions.get()) : text };
    if (isTarget && targetIds) return { ...start, ids: targetIds, nPrompt: 1 };
    if (!isTarget && ids) return { ...start, ids, nPrompt: Math.min(nPrompt ?? ids.length, ids.length) };
    if (trace.key !== JSON.stringify(requestOf(actions.get()))) return null;
    const { tokens, real } = trace.written;
    const own = tokens.slice(real.start, real.end).map((token) => token.id);
    return {
      ...start,
      ids: own,
      nPrompt: isTarget ? 1 : own.length,
      given: true,
      typed: trace.targetFrom === "request",
    };
  }

  /** A taken token is shown before a trace has it. @param {Prediction} prediction */
  function read({ candidates }) {
    for (const candidate of candidates) if (!words.has(candidate.id)) words.set(candidate.id, candidate);
  }

  /** Show other ids, with the last of them as the query. @param {number[]} ids @param {number} nPrompt */
  function show(ids, nPrompt) {
    actions.set(showingIds(actions.get(), trace?.model, ids, nPrompt));
  }

  const session = {
    path,

    /** Called whenever there is something new to show. @param {typeof trace} newest */
    follow(newest) {
      trace = newest;
      for (const token of [...(trace?.keys.tokens ?? []), ...(trace?.written?.tokens ?? [])])
        words.set(token.id, token);
      for (const prediction of Object.values(trace?.predictions ?? {})) read(prediction);
      const now = path();
      if (now) paths = visit(paths, now);
    },

    /** A token was drawn: it is appended to `from`'s and those drawn since. @param {Pick<Path, "nPrompt">} path @param {any} step @returns {number[]} all ids including it */
    advance({ nPrompt }, step) {
      const { ids } = /** @type {Path} */ (path());
      const next = [...ids, step.token.id];
      words.set(step.token.id, step.token);
      read(step.prediction);
      read(step.from);
      const before = actions.get();
      draws.set(next.join("."), { ...step, rows: null, settings: step.from.settings });
      const patch = showingIds(before, trace?.model, next, nPrompt);
      actions.learn(before, { ...before, ...patch }, step);
      actions.set(patch);
      return next;
    },

    back: () => at(({ ids, nPrompt }) => ids.length > nPrompt && show(ids.slice(0, -1), nPrompt)),
    restart: () => at(({ ids, nPrompt }) => ids.length > nPrompt && show(ids.slice(0, nPrompt), nPrompt)),
    /** Back to a branch, or forward to a token that was undone. @param {Pick<Path, "ids"|"nPrompt">} to */
    go: ({ ids, nPrompt }) => show(ids, nPrompt),

    /** The undone ids of the path, oldest first. @returns {number[]} */
    undone: () => at((now) => undone(paths, now)) ?? [],
    /** @returns {Path[]} */
    branches: () => at((now) => branchesOf(paths, now)) ?? [],
    /** The step that drew the token at `index`, if it was drawn here. @param {number} index */
    drawn: (index) => at(({ ids }) => session.step(ids.slice(0, index + 1))),
    /** The step that drew the last of these ids, if it was drawn here. @param {number[]} ids */
    step: (ids) => draws.get(ids.join(".")),
    /** The label of a token; its id until more is known. @param {number} id */
    word: (id) => words.get(id) ?? { id, text: `#${id}`, bytes: "", partial: false, special: true },
    /** The chosen id of the path: the one at the page's query, or the last. @param {Path} path */
    chosen({ ids }) {
      const state = actions.get();
      const last = ids.length - 1;
      if (state.query === null || !followsQuery(state, trace?.model)) return last;
      return Math.max(0, Math.min(state.query - offsetOf(state, writingSide(trace?.model)), last));
    },
    /** The model of the shown trace. */
    model: () => trace?.model,
    /** The model's window. */
    window: () => trace?.model.max_seq_len ?? 0,

    /** What Step goes on from: all that is written, or of a finished text what stands up to the chosen token. */
    from: () => at((now) => upToChosen(now)) ?? null,

    /** Why there is no next token. @returns {"reading"|"end_of_text"|"window_full"|null} */
    blocked() {
      const now = session.from();
      if (!now || !trace) return "reading";
      if (now.ids.at(-1) === trace.model.special.end) return "end_of_text";
      return now.ids.length >= trace.model.max_seq_len ? "window_full" : null;
    },
  };

  /** The chips beside Step offer what could stand after the chosen token. @param {Path} now @returns {Path} */
  function upToChosen(now) {
    const { ids, nPrompt, given, typed } = now;
    if (!trace?.written) return now;
    const { special, max_seq_len: most } = trace.model;
    const translated = given && !typed && writesTarget(trace.model); // all but END
    if (!translated && ids.at(-1) !== special.end && ids.length < most) return now;
    const row = rowOf(actions.get(), trace) - trace.written.real.start;
    if (row < 0 || row >= ids.length - 1) return now;
    return { ...now, ids: ids.slice(0, row + 1), nPrompt: Math.min(nPrompt, row + 1), given: false };
  }

  /** @template T @param {(now: Path) => T} use @returns {T|undefined} */
  function at(use) {
    const now = path();
    return now ? use(now) : undefined;
  }

  return session;
}

/** @typedef {ReturnType<typeof createSession>} Session */

/** The sentence that a target belongs to, as a name. @param {State} state */
const sourceOf = ({ text, ids }) => (ids ? ids.join(".") : text);
