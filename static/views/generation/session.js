/**
 * Where the page is in the tree of texts (state/text_tree.js), how it grows, and what each step has brought besides, which
 * lasts as long as the page.
 */

import { requestOf } from "../../data/request.js";
import { offsetOf } from "../../model/compare/runs.js";
import { writesTarget } from "../../model/description.js";
import { rowOf, sharedLength } from "../../model/selection.js";
import { followsQuery, nodeShown, showingIds, writingSide } from "../../model/written.js";
import {
  allFrom,
  find,
  merged,
  NO_TREE,
  nodeAt,
  sameRun,
  sameSentence,
  textAt,
  visited,
  wayTo,
} from "../../state/text_tree.js";
import { folded, grownBy, picked, pruned, renamed, undone, withPairAtEnds } from "../../state/tree_changes.js";
import { forkOf, otherEnd } from "./tree_layout.js";

/**
 * @import { ModelTrace, Prediction } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { TextTree, Told, WritingRun } from "../../state/text_tree.js"
 * @import { Actions } from "../view.js"
 */

/**
 * @typedef {{model: string|null, text: string, ids: number[], nPrompt: number, given?: boolean, typed?: boolean}} Path
 *   `text`: the typed sentence; `given`: no token was taken yet; `typed`: the reader wrote all of it
 */

/** So many places of a text are asked about at once, the last ones first. */
const MOST_ASKED = 64;

/** @param {Actions} actions */
export function createSession(actions) {
  /** @type {ModelTrace|null} */
  let trace = null;
  /** @type {{run: WritingRun, path: Path}|null} a path that the tree need not have until another one is taken */
  let given = null;
  /** @type {Map<number, any>} how to write a token with this id */
  const words = new Map();
  /** @type {Map<string, any>} the step that drew a token, by the ids up to and including it */
  const draws = new Map();
  /** @type {Map<string, {before: number, after: number}>} how likely tokens were, by run and ids up to and including each */
  const offers = new Map();

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

  /** @type {Map<string, Prediction>} what could come next, by run and ids */
  const nexts = new Map();

  /** What else could have stood in a text, where no step has said it, by run and ids. @type {Map<string, {id: number, before: number}[]>} */
  const alternatives = new Map();
  let askedOf = ""; // the trace whose rows were all asked about

  /** The shown run and the ids of a node; null: it is of another run. @param {number} at */
  function keyOfNode(at) {
    const now = path();
    const tree = shownTree();
    if (!now || !sameRun(tree.runs[nodeAt(tree, at).run], runOf(now))) return null;
    return keyOf(runOf(now), textAt(tree, at).ids);
  }

  /** A taken token is shown before a trace has it. @param {Prediction|null} prediction @param {WritingRun} run @param {number[]} ids  after which it is */
  function read(prediction, run, ids) {
    if (prediction) nexts.set(keyOf(run, ids), prediction);
    for (const candidate of prediction?.candidates ?? []) {
      if (!words.has(candidate.id)) words.set(candidate.id, candidate);
      offers.set(keyOf(run, [...ids, candidate.id]), candidate);
    }
  }

  /** What is known of a token that was not drawn here. @param {WritingRun} run @param {number[]} ids  up to and including it @param {Told["how"]} how @returns {Told} */
  function told(run, ids, how) {
    const { before: p, after } = offers.get(keyOf(run, ids)) ?? {};
    const id = /** @type {number} */ (ids.at(-1));
    return { how, ...(p !== undefined && { p, after }), ...(words.has(id) && { word: labelOf(words.get(id)) }) };
  }

  /** The run under which a text is written now. @param {Pick<Path, "text">} path @returns {WritingRun} */
  function runOf({ text }) {
    const { model, causal, interventions } = actions.get();
    return { model, text, ...(causal !== null && { causal }), ...(interventions.length && { interventions }) };
  }

  /**
   * The tree with this path.
   * @param {Path} path @param {(run: WritingRun, ids: number[]) => Told} [tell]  of each new token @param {boolean} [strict]
   *   whether it was written under the run of now
   */
  function treeWith(path, tell, strict = false) {
    let { tree } = actions.get();
    const run = runOf(path);
    if (given && sameSentence(given.run, run) && find(tree, given.run, given.path.ids) < 0) {
      const { ids, typed } = given.path;
      tree = visited(tree, given.run, given.path, (i) =>
        told(run, ids.slice(0, i + 1), typed ? "typed" : "greedy"),
      ).tree;
    }
    const isKnown = tree.nodes.some((node) => node && sameSentence(tree.runs[node.run], run));
    const before = find(tree, run, path.ids.slice(0, -1)) >= 0;
    const how = isKnown ? (before ? "taken" : "typed") : "given";
    const of = tell ?? ((under, ids) => told(under, ids, how));
    return withPairAtEnds(tree, visited(tree, run, path, (i) => of(run, path.ids.slice(0, i + 1)), strict).tree);
  }

  /** Show other ids, with the last of them as the query. @param {number[]} ids @param {number} nPrompt */
  function show(ids, nPrompt) {
    const now = path();
    const tree = now ? treeWith({ ...now, ids, nPrompt, given: false }) : actions.get().tree;
    actions.set({ ...showingIds(actions.get(), trace?.model, ids, nPrompt), tree });
  }

  /** The last tree with a path that was not written here, which the store does not have yet. */
  let givenTree = { of: NO_TREE, text: "", tree: NO_TREE };

  /** The tree as it is shown: also with what the model wrote before anyone took a token. @returns {TextTree} */
  function shownTree() {
    const { tree } = actions.get();
    const now = path();
    if (!now?.given || find(tree, runOf(now), now.ids) >= 0) return tree;
    const run = runOf(now);
    const text = keyOf(run, now.ids);
    if (givenTree.of !== tree || givenTree.text !== text) {
      const how = now.typed ? "typed" : "greedy";
      const own = visited(tree, run, now, (i) => told(run, now.ids.slice(0, i + 1), how)).tree;
      givenTree = { of: tree, text, tree: own };
    }
    return givenTree.tree;
  }

  /** @param {TextTree} tree @param {number[]} ids */
  function takenAt(tree, ids) {
    const run = at(runOf);
    const place = run ? find(tree, run, ids) : -1;
    const { how, p } = place < 0 ? { how: null, p: undefined } : nodeAt(tree, place);
    if (how !== "taken" || !run || p === undefined) return undefined;
    const from = nexts.get(keyOf(run, ids.slice(0, -1))) ?? null; // a reload has forgotten it
    return { taken: true, u: null, before: p, from, settings: {} };
  }

  /** The place of the page in the tree; -1: its text is being read. */
  const here = () => at((now) => find(shownTree(), runOf(now), now.ids)) ?? -1;

  /** What the reader had chosen, open and changed when the last token came. */
  let written = "";

  const session = {
    path,

    /** Whether the last step is the newest that happened: nothing was chosen, opened or changed since. */
    isNewest: () => written !== "" && written === actsOf(actions.get()),

    /** Called whenever there is something new to show. @param {typeof trace} newest */
    follow(newest) {
      trace = newest;
      for (const token of [...(trace?.keys.tokens ?? []), ...(trace?.written?.tokens ?? [])])
        words.set(token.id, token);
      const now = path();
      if (!trace?.written || !now) return;
      if (trace.key === JSON.stringify(requestOf(actions.get()))) {
        const { tokens, real } = trace.written;
        const ids = tokens.slice(real.start, real.end).map((token) => token.id);
        for (const [row, prediction] of Object.entries(trace.predictions))
          read(prediction, runOf(now), ids.slice(0, Number(row) - real.start + 1));
      }
      const tree = now.given ? actions.get().tree : treeWith(now);
      given = now.given ? { run: runOf(now), path: now } : null;
      if (tree.nodes.length > actions.get().tree.nodes.length && takenAt(tree, now.ids))
        written = actsOf(actions.get());
      if (tree !== actions.get().tree) queueMicrotask(() => actions.set({ tree })); // not while the page is being drawn
    },

    /** A token was drawn: it is appended to `from`'s and those drawn since. @param {Pick<Path, "nPrompt">} path @param {any} step @returns {number[]} all ids including it */
    advance({ nPrompt }, step) {
      const now = /** @type {Path} */ (path());
      const next = [...now.ids, step.token.id];
      const run = runOf(now);
      words.set(step.token.id, step.token);
      read(step.prediction, run, next);
      read(step.from, run, now.ids);
      const before = actions.get();
      const { settings } = step.from;
      draws.set(next.join("."), { ...step, rows: null, settings });
      const drawn = toldBy(step, before.seed, settings);
      const tree = treeWith(
        { ...now, ids: next, nPrompt, given: false },
        (of, ids) => (ids.length === next.length ? drawn : told(of, ids, "given")),
        true,
      );
      const patch = { ...showingIds(before, trace?.model, next, nPrompt), tree };
      actions.learn(before, { ...before, ...patch }, step);
      written = actsOf({ ...before, ...patch });
      actions.set(patch);
      return next;
    },

    back: () => at(({ ids, nPrompt }) => ids.length > nPrompt && show(ids.slice(0, -1), nPrompt)),
    restart: () => at(({ ids, nPrompt }) => ids.length > nPrompt && show(ids.slice(0, nPrompt), nPrompt)),
    /** Forward to a token that was undone. @param {Pick<Path, "ids"|"nPrompt">} to */
    go: ({ ids, nPrompt }) => show(ids, nPrompt),

    // The tree.
    here,
    tree: shownTree,
    /** @param {number} at  of the tree, which brings its run */
    goTo(at) {
      const tree = shownTree();
      const tip = wayTo(tree, tree.tip).includes(at) ? tree.tip : at;
      actions.set({ ...nodeShown({ ...actions.get(), tree }, trace?.model, at), tree: { ...tree, tip } });
    },
    /** Without this branch; the page leaves it. @param {number} at */
    prune(at) {
      const tree = shownTree();
      if (allFrom(tree, at).includes(here())) session.goTo(nodeAt(tree, at).up);
      actions.set({ tree: pruned(actions.get().tree, at) });
    },
    /** @param {number} at @param {string} name */
    rename: (at, name) => actions.set({ tree: renamed(shownTree(), at, name) }),
    /** @param {number} at @param {boolean} folds */
    fold: (at, folds) => actions.set({ tree: folded(shownTree(), at, folds) }),
    /** What else could stand after a node of the shown run, the likeliest first; none: it is not known. @param {number} at @returns {{id: number, before: number}[]} */
    offered(at) {
      const key = keyOfNode(at);
      const found = key === null ? undefined : (nexts.get(key)?.candidates ?? alternatives.get(key));
      return found ?? [];
    },
    /** Asks, once, for what else could have stood in the shown text where no step has said it. What was cancelled is asked by the next draw. @param {() => void} then */
    askOffered(then) {
      const state = actions.get();
      const now = path();
      if (!now || !trace?.written || state.file !== null || trace.key !== JSON.stringify(requestOf(state))) return;
      if (askedOf === trace.key) return;
      askedOf = trace.key;
      const run = runOf(now);
      const { start } = trace.written.real;
      const keys = now.ids.map((_, i) => keyOf(run, now.ids.slice(0, i + 1)));
      const rows = [...keys.keys()]
        .slice(now.nPrompt - 1, -1)
        .filter((i) => !nexts.has(keys[i]) && !alternatives.has(keys[i]));
      if (rows.length === 0) return;
      const asked = rows.slice(-MOST_ASKED);
      for (const i of asked) alternatives.set(keys[i], []);
      const positions = asked.map((i) => start + i);
      actions.alternatives(state, positions).then(
        (found) => {
          for (const one of found) {
            for (const candidate of one.candidates) if (!words.has(candidate.id)) words.set(candidate.id, candidate);
            alternatives.set(keys[one.position - start], one.candidates);
          }
          if (rows.length > asked.length) askedOf = "";
          then();
        },
        ({ status }) => {
          if (status >= 400 && status < 500) return; // it would be refused again
          for (const i of asked) alternatives.delete(keys[i]);
          askedOf = "";
        },
      );
    },
    /** Another token in the place of the one after a node. @param {number} up @param {number} id */
    instead(up, id) {
      const { ids, nPrompt } = textAt(shownTree(), up);
      show([...ids, id], nPrompt);
    },
    /** Where the shown text forked last, and the other one. */
    fork: () => (here() < 0 ? null : forkOf(shownTree(), here())),
    /** A text that was left after what is shown, or stands beside it in the comparison: its end, its first token there, and how many it has. */
    other() {
      const [tree, now] = [shownTree(), here()];
      const end = now < 0 ? null : (comparedWith(tree, now) ?? otherEnd(tree, now));
      if (end === null) return null;
      const [{ ids, nPrompt }, shown] = [end, now].map((one) => textAt(tree, one));
      return { end, first: session.word(ids[sharedLength(ids, shown.ids)]), n: ids.length - nPrompt };
    },
    goToOther() {
      const other = session.other();
      if (other) session.goTo(other.end);
    },
    /** The shown text beside the one that it forked from. */
    compareFork() {
      const [tree, fork] = [shownTree(), session.fork()];
      if (fork) actions.set({ drawer: "generation", tree: { ...tree, pair: [fork.other, here()] } });
    },
    /** @param {number} at  to be compared */
    pick: (at) => actions.set({ tree: picked(shownTree(), at) }),
    /** Texts that another request writes after `from`, under the run of now, which the reader may change before they come. @param {Path} from */
    writing(from) {
      const run = runOf(from);
      return {
        from,
        /** Whether the page still shows that text, or what goes on from it, under that run. */
        isShown: () =>
          at((now) => sameRun(runOf(now), run) && sharedLength(now.ids, from.ids) === from.ids.length) ?? false,
        /** @param {{ids: number[], told: Told}[]} texts */
        grow: (texts) => actions.set({ tree: grownBy(actions.get().tree, run, from, texts, path() ?? from) }),
      };
    },
    undo: () => actions.set({ tree: undone(actions.get().tree) }),
    /** What a file has, and its end, if its model is the page's: another one reads the sentence. @param {TextTree} other */
    add(other) {
      const tree = merged(actions.get().tree, other);
      const { model, text } = tree.runs[nodeAt(tree, tree.tip).run];
      const end =
        model === trace?.model.name ? nodeShown({ ...actions.get(), tree }, trace?.model, tree.tip) : { ids: null };
      actions.set({ model, text, tree, ...end });
    },

    /** The undone ids of the path, oldest first. @returns {number[]} */
    undone() {
      const tree = shownTree();
      const way = tree.tip < 0 ? [] : wayTo(tree, tree.tip);
      const known = way.indexOf(here());
      return known < 0 ? [] : way.slice(known + 1).flatMap((one) => nodeAt(tree, one).ids);
    },
    /** The step that drew the token at `index`, if it was drawn here. @param {number} index */
    drawn: (index) => at(({ ids }) => session.step(ids.slice(0, index + 1))),
    /** The same, or what the tree keeps of it: without `from`, what it was drawn from. @param {number} index */
    known(index) {
      const step = session.drawn(index);
      const { tree } = actions.get();
      const place = step ? -1 : (at((now) => find(tree, runOf(now), now.ids.slice(0, index + 1))) ?? -1);
      if (place < 0) return step;
      const { how, p: before, after, u = null, settings } = nodeAt(tree, place);
      if (!["greedy", "drawn", "typed"].includes(how) || before === undefined) return undefined;
      const used = tree.settings[settings ?? -1] ?? {};
      return {
        token: session.word(nodeAt(tree, place).ids[0]),
        u,
        before,
        after,
        typed: how === "typed",
        settings: used,
        from: null,
      };
    },
    /** The step that drew the last of these ids, if it was drawn here. @param {number[]} ids */
    step: (ids) => draws.get(ids.join(".")),
    /** What the last of these ids was taken from, if the reader took it. @param {number[]} ids */
    taken: (ids) => takenAt(actions.get().tree, ids),
    /** The label of a token; its id until more is known. @param {number} id */
    word(id) {
      const kept = actions.get().tree.words[id];
      return words.get(id) ?? { id, ...(kept ?? { text: `#${id}`, bytes: "", partial: false, special: true }) };
    },
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

  /** The other one of two texts that are compared; null: the page shows neither or both, or one begins the other. @param {TextTree} tree @param {number} now */
  function comparedWith(tree, now) {
    if (actions.get().drawer !== "generation" || tree.pair.length < 2) return null;
    const shown = textAt(tree, now).ids;
    const parts = (/** @type {{ids: number[]}} */ { ids }) => sharedLength(ids, shown) < ids.length;
    const others = tree.pair.filter((at) => parts(textAt(tree, at)) && !wayTo(tree, at).includes(now));
    return others.length === 1 ? others[0] : null;
  }

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
/** @typedef {ReturnType<Session["writing"]>} Writing */

/** What a step says of its token. @param {any} step @param {number} seed @param {any} settings @returns {Told} */
export function toldBy({ token, before: p, after, u, typed }, seed, settings) {
  const how = u === null || typed ? "typed" : settings?.temperature === 0 ? "greedy" : "drawn";
  return { how, p, after, ...(u !== null && { u, seed }), settings, word: labelOf(token) };
}

/** What a reader chooses or changes: the sentence tells of a step until one of these differs. @type {(keyof State)[]} */
const ACTS = [
  "view",
  "attention",
  "layer",
  "head",
  "query",
  "key",
  "cell",
  "ids",
  "targetIds",
  "causal",
  "interventions",
  "padCount",
  "paused",
];

/** @param {State} state */
const actsOf = (state) => JSON.stringify(ACTS.map((name) => state[name]));

/** @param {WritingRun} run @param {number[]} ids */
const keyOf = (run, ids) => `${JSON.stringify(run)} ${ids.join(".")}`;

/** Of a token, what the tree keeps. @param {any} token */
const labelOf = ({ id, text, bytes, partial, special }) => ({ id, text, bytes, partial, special });

/** The sentence that a target belongs to, as a name. @param {State} state */
const sourceOf = ({ text, ids }) => (ids ? ids.join(".") : text);
