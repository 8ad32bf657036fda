/** Sets the state. Each change is fitted to its model, so a change of the model waits until it is loaded. */

import { sideShown, withChanges } from "../model/compare/runs.js";
import { attentionOf, attentionsOf, trainedCausal, writesTarget } from "../model/description.js";
import { within } from "../model/interventions.js";
import { sharedLength } from "../model/selection.js";
import { baseOf, sameModel } from "../model/trainings.js";
import { SAMPLING } from "../state/page_fields.js";
import { anotherSentence, mergedViewState, sameValue as same } from "../state/view_state.js";
import { errorText } from "../ui/format.js";
import { VIEWS } from "../views/index.js";
import { PANELS } from "../views/panels.js";
import { isModel, placeNamed, placeOf } from "../views/places.js";
import { hasView } from "../views/view.js";
import { attentionState, pencilDown } from "../views/view_states.js";
import { firstHead, inputFor, switchedTo } from "./initial_state.js";

/**
 * @import { Models } from "../data/models.js"
 * @import { Model } from "../model/description.js"
 * @import { Store } from "../page.js"
 * @import { Patch, State } from "../state/store.js"
 * @import { Declared } from "../state/view_state.js"
 * @import { Card } from "./initial_state.js"
 */

// A change, fitted to its model.

/** What may change while a saved trace is shown. */
const VIEWING = [
  "drawer",
  "attention",
  "layer",
  "head",
  "query",
  "key",
  "view",
  "viewState",
  "cell",
  "ffnUnit",
  "quiz",
  ...SAMPLING,
  "theme",
  "lang",
];

/** The part of a change that a saved trace allows. @param {State} state @param {Patch} patch @returns {Patch} */
function allowed({ file }, patch) {
  if (file === null) return patch;
  return Object.fromEntries(Object.entries(patch).filter(([name]) => VIEWING.includes(name)));
}

/** Selections that refer to another model's numbers. */
const UNCHOSEN = { cell: null, ffnUnit: null, answer: null };

/** How a text that is typed after a chat is read: what its template wrote, special tokens included, is gone. */
const AS_TYPED = { addSpecial: true, special: false, chat: [] };

/** Whether the model can answer this: a class, or a token that can be sampled. @param {{classes: string[]|null, vocab_size: number, never_sampled: number[]}} model @param {number|null} id */
const isAnswer = ({ classes, vocab_size, never_sampled }, id) =>
  id !== null && id < (classes?.length || vocab_size) && (Boolean(classes?.length) || !never_sampled.includes(id));

/**
 * `patch` fitted to its model, so that a link or another model never requests what does not exist. Another model resets
 * what refers to the previous one's tokens; another attention resets the choice on a side that it lacks.
 * @param {State} before
 * @param {Patch} given
 * @param {(state: State) => any} modelOf
 * @param {Declared[]} declared  by the views
 * @returns {Patch}
 */
export function fitted(before, given, modelOf, declared) {
  const patch = pencilLeft(before, given);
  // A snapshot has its model's tokens, layers and heads: what is chosen stays.
  const changed = patch.model !== undefined && !sameModel(patch.model, before.model);
  const fresh = changed
    ? {
        query: null,
        row: null,
        key: null,
        causal: null,
        target: null,
        targetIds: null,
        attention: null,
        interventions: [],
        paused: [],
        ...(sideShown(before) === "before" && { against: null }),
        ...UNCHOSEN,
      }
    : {};
  const another = /** @type {const} */ (["text", "pair", "ids", "pixels", "target", "targetIds"]).some(
    (name) => name in patch && !same(patch[name], before[name]),
  );
  const kept =
    (changed || another) && patch.viewState !== null
      ? { viewState: mergedViewState(anotherSentence(declared), patch.viewState ?? {}) }
      : {};
  const leaves = (before.chat.length > 0 || !before.addSpecial) && !("addSpecial" in patch);
  const typed = leaves && "text" in patch && patch.text !== before.text ? AS_TYPED : {};
  const asked = {
    ...fresh,
    ...(another && { answer: null }),
    ...typed,
    ...patch,
    ...kept,
    ...quizOrModel(before, patch),
  };
  const state = { ...before, ...asked, viewState: before.viewState };
  const model = modelOf(state);
  if (!model) return asked;
  Object.assign(asked, readBy(model, state));
  if (!model.pairs) asked.pair = null;
  if (!model.chat) Object.assign(asked, { chat: [], addSpecial: true });
  if (patch.ids !== undefined && patch.tokenTypes === undefined) asked.tokenTypes = null;
  const open = attentionOf(model, state.attention);
  const known = modelOf(before); // after a reload, Back may leave a model that was never loaded
  const was = known ? attentionOf(known, before.attention) : open;
  const lost = (/** @type {"query"|"key"} */ name, /** @type {"queries"|"keys"} */ sides) =>
    name in asked || open[sides] === was[sides] ? {} : { [name]: null };
  const sameFfn = state.layer === before.layer && open.stack === was.stack;
  return {
    ...lost("query", "queries"),
    ...keptRow(asked, before, was.queries, open.queries),
    ...lost("key", "keys"),
    ...(sameFfn ? {} : { ffnUnit: null }),
    ...asked,
    answer: isAnswer(model, state.answer) ? state.answer : null,
    ...(writesTarget(model) ? {} : { target: null, targetIds: null }),
    attention: open === attentionsOf(model).at(-1) ? null : open.id,
    layer: Math.min(state.layer, open.n_layer - 1),
    head: Math.min(state.head, open.n_head - 1),
    causal: state.causal === trainedCausal(model) ? null : state.causal,
    view: offered(state.view, model, state),
    drawer: state.drawer !== null && DRAWERS.has(state.drawer) ? state.drawer : null,
    ...(another && !("interventions" in asked) ? keptEdits(before, state, model) : {}),
    ...(another && !("against" in asked) ? keptAside(before, state, model) : {}),
  };
}

/** Who leaves a head lays its pencil down: a click to read a cell of the next one must not hide it in every layer. @param {State} before @param {Patch} patch @returns {Patch} */
function pencilLeft(before, patch) {
  const isOfHead = (/** @type {State} */ state) => placeOf(state).name === "head";
  const { pencil, scope } = attentionState.of(before);
  const lies = pencil !== "on" && scope === "head";
  if (lies || patch.viewState === null || before.lesson !== null || !isOfHead(before)) return patch;
  const viewState = mergedViewState(before.viewState, patch.viewState ?? {});
  if (isOfHead({ ...before, ...patch, viewState })) return patch;
  return { ...patch, viewState: mergedViewState(pencilDown, patch.viewState ?? {}) };
}

/** A model of pictures does not read text, and a model of texts does not read pictures. @param {any} model @param {State} state @returns {Partial<State>} */
const readBy = ({ picture }, { pixels, text, ids, hidden, padCount }) => {
  if (picture) return text || ids || padCount ? { text: "", ids: null, nPrompt: null, padCount: 0 } : {};
  return pixels || hidden.length ? { pixels: null, hidden: [] } : {};
};

/** The edits that stay: those on tokens that a continued or shortened sentence still has; for another sentence, those that name no token. @param {State} before @param {State} state @param {any} model */
function keptEdits(before, { text, pair, target, ids, targetIds, padCount, addSpecial }, model) {
  const goesOn = text === before.text && pair === before.pair;
  const tokens = (ids ? sharedBy(before.ids, ids) : goesOn ? before.nPrompt : 0) ?? 0;
  const added = padCount + (addSpecial && model.special?.first && !writesTarget(model) ? 1 : 0);
  const read = ids === before.ids && goesOn ? Infinity : tokens && tokens + added;
  const sameTarget = target === before.target && targetIds === before.targetIds;
  const wrote = sameTarget ? Infinity : targetIds ? sharedBy(before.targetIds, targetIds) : 0;
  const lengths = { source: read, target: read === Infinity ? wrote : 0 };
  const kept = (/** @type {State["interventions"]} */ ones) => within(ones, attentionsOf(model), lengths);
  return { interventions: kept(before.interventions), paused: before.paused.filter(({ edit }) => kept([edit]).length) };
}

/** The same for the edits that are set aside while the run before is shown. @param {State} before @param {State} state @param {any} model */
function keptAside(before, state, model) {
  const now = withChanges(before, model);
  if (now === before || !before.against?.interventions) return {};
  const { interventions } = keptEdits(now, { ...state, padCount: now.padCount }, model);
  return { against: { ...before.against, interventions } };
}

/**
 * How many ids are the same as before. Those of a typed text are not known here, so it counts as continued.
 * @param {number[]|null} before @param {number[]} ids
 */
const sharedBy = (before, ids) => (before ? sharedLength(before, ids) : ids.length);

/** The river says the answers: a quiz opens a head, and the whole model ends it. @param {State} before @param {Patch} patch @returns {Partial<State>} */
function quizOrModel(before, patch) {
  const after = { ...before, ...patch };
  if (!after.quiz || !isModel(after)) return {};
  return patch.quiz ? { view: "attention" } : { quiz: false };
}

/**
 * The chosen row of the side that generation extends stays chosen while a head of the other side is open. Only a
 * translator has both sides.
 * @param {Patch} asked @param {State} before @param {string} was  whose queries were open @param {string} now
 */
function keptRow(asked, before, was, now) {
  if (was === now || "row" in asked || "query" in asked) return {};
  return was === "target" ? { row: before.query } : { query: before.row, row: null };
}

/** A view that the model or its open attention lacks is replaced by the default, or else by the first available one. @param {string} id @param {Model} model @param {State} state */
function offered(id, model, state) {
  const has = (/** @type {string} */ one) => VIEWS.some((view) => view.id === one && hasView(view, model, state));
  if (has(id)) return id;
  if (!VIEWS.some((view) => view.id === id)) return offered("model", model, state); // a link may say anything
  const place = isModel({ view: id }) ? "head" : placeNamed(id);
  const near = ["attention", ...VIEWS.map((view) => view.id)].find((one) => placeNamed(one) === place && has(one));
  return near ?? VIEWS.find((view) => hasView(view, model, state))?.id ?? id;
}

/** What opens over the page: a link may name anything. */
const DRAWERS = new Set(["examples", ...PANELS.filter(({ frame }) => frame.tool).map(({ id }) => id)]);

/** What may change while the start page stays: the reader's settings, and the examples over it. */
const OF_START = ["theme", "type", "lang", "drawer"];

/**
 * @param {Store} store
 * @param {{models: Models, modelOf: (state: State) => any,
 *   status: ReturnType<typeof import("./status.js").createStatus>,
 *   declared: Declared[], examples: {examples: Card[]}}} page
 */
export function createSetter(store, { models, modelOf, status, declared, examples }) {
  let newest = 0;
  /** @type {string|null} the status before the model began to load */
  let earlier = null;
  let applying = false; // applies the change

  /** @param {Patch} change */
  function make(change) {
    applying = true;
    const leaves = store.get().start && !change.start && Object.keys(change).some((name) => !OF_START.includes(name));
    try {
      store.set(fitted(store.get(), leaves ? { ...change, start: false } : change, modelOf, declared));
    } finally {
      applying = false;
    }
  }

  /** Gives up a model that is still loading. */
  function giveUp() {
    newest++;
    if (earlier !== null) status.show(/** @type {any} */ (earlier));
    earlier = null;
  }
  // Back, or opening a file, is newer than the model chosen before it.
  store.subscribe(() => applying || giveUp());

  /**
   * Runs `then` once the model is known, unless something else was chosen meanwhile. Reports missing snapshots.
   * @param {string} name @param {() => void} then @param {() => void} [instead]  for a missing snapshot
   */
  async function knowing(name, then, instead) {
    giveUp();
    if (models.named(name)) return then();
    const turn = newest;
    earlier = status.now();
    status.show("loading");
    try {
      await models.load(name, status.waiting);
      if (turn !== newest) return;
      earlier = null;
      then();
    } catch (error) {
      if (turn !== newest) return;
      giveUp();
      status.notice(errorText(/** @type {Error} */ (error)));
      if (/** @type {any} */ (error).code === "unknown_snapshot") instead?.();
    }
  }

  return {
    /** @param {Patch} change */
    set(change) {
      const { model } = allowed(store.get(), change);
      const then = () => make(allowed(store.get(), change));
      if (model) knowing(model, then);
      else then();
    },

    /** Opens another model with the same sentence. @param {string} name */
    openModel(name) {
      const patch = () => {
        const [model, state] = [models.named(name), store.get()];
        return { ...firstHead(examples, name), ...switchedTo(model, state), ...inputFor(model, state, examples) };
      };
      knowing(name, () => make(allowed(store.get(), patch())));
    },

    /** After the state was set from elsewhere (Back): loads its model and fits the state to it. @param {() => void} then */
    settle(then) {
      const name = store.get().model ?? models.first;
      const fit = (/** @type {Patch} */ patch) => () => {
        make(patch);
        then();
      };
      const model = baseOf(name);
      knowing(name, fit({}), () => knowing(model, fit({ model })));
    },
  };
}
