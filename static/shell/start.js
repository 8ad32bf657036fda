/** The first state of the page: from the address, otherwise the defaults, kept within what the model has. */

import { attentionOf, attentionsOf, trainedCausal, writesTarget } from "../model/description.js";
import { within } from "../model/interventions.js";
import { blank, fits, readsPhotos } from "../model/patches.js";
import { baseOf, sameModel } from "../model/snapshots.js";
import { sharedLength } from "../model/written.js";
import { readLink } from "../state/link.js";
import { atLeast, levelFrom } from "../state/page_fields.js";
import { DEFAULTS } from "../state/store.js";
import { anotherSentence, mergedViewState, sameValue as same } from "../state/view_state.js";
import { VIEWS } from "../stations/index.js";
import { hasView } from "../stations/view.js";
import { language } from "../ui/i18n.js";
import { remembered } from "../ui/remembered.js";
import { knownAddress } from "./address.js";
import { chosenTheme, chosenType } from "./reader_settings.js";

/**
 * @import { Models } from "../data/models.js"
 * @import { Patch, State } from "../state/store.js"
 * @import { Declared } from "../state/view_state.js"
 */

// What a model opens with: another one in its place, and the head where nobody chose one.

/**
 * A translation is greedy until the reader raises the temperature; for a story the settings stay.
 * @param {any} model @param {State} state
 */
export function switchedTo(model, state) {
  const { temperature } = state;
  const greedy = writesTarget(model)
    ? { temperature: 0 }
    : temperature === 0
      ? { temperature: DEFAULTS.temperature }
      : {};
  return { model: model.name, ids: null, nPrompt: null, ...greedy };
}

/**
 * What another kind of model reads: a picture, or the text of one of its cards.
 * @param {any} model @param {State} state @param {{examples: Card[]}} page
 * @returns {Patch}
 */
export function inputFor(model, { pixels, text }, { examples }) {
  if (model.picture)
    return {
      text: "",
      hidden: [],
      pixels: fits(pixels, model.picture) ? pixels : firstPicture(model),
    };
  const card = examples.find((one) => one.model === baseOf(model.name));
  return pixels ? { pixels: null, hidden: [], text: text || (card?.text ?? "") } : {};
}

/** One that the model never saw, or a blank one to draw on; a photo is for the reader to choose. @param {any} model @returns {number[][]|null} */
const firstPicture = (model) => (readsPhotos(model) ? null : (model.example?.pixels ?? blank(model.picture.size)));

/** @typedef {{layer: number, head: number}} Opened  @typedef {{model: string, claim?: object, text?: string} & Partial<Opened>} Card */

/**
 * The head of the model's first card that says what decides its answer: tests/test_claims.py holds that this head does.
 * Without such a card, the first head of all.
 * @param {{examples: Card[]}} examples @param {string} model  or a snapshot of it @returns {Partial<Opened>}
 */
export function firstHead({ examples }, model) {
  const card = examples.find((one) => one.model === baseOf(model) && one.claim && one.layer !== undefined);
  return card ? { layer: card.layer, head: card.head } : {};
}

/** Selections that refer to another model's numbers. */
const UNCHOSEN = { cell: null, ffnUnit: null, answer: null };

/**
 * What the address says, over the defaults; not yet fitted to its model.
 * @param {Models} models
 * @param {{examples: Card[]}} examples
 * @param {Declared[]} declared  by the views
 * @returns {{state: State, replaced: string|null}} `replaced`: the model that the link names and the server does not
 * have
 */
export function initialState(models, examples, declared) {
  const address = knownAddress();
  const asked = readLink(address, declared);
  const missing = asked.model !== undefined && !models.has(asked.model);
  const model = missing || !asked.model ? models.first : asked.model;
  const level = levelFrom(remembered("level"));
  const reader = { theme: chosenTheme(), type: chosenType(), lang: language() };
  const chosen = asked.attention !== undefined || asked.layer !== undefined || asked.head !== undefined;
  const start = chosen ? {} : firstHead(examples, model);
  const state = { ...DEFAULTS, level, ...start, ...asked, model, ...reader };
  const replaced = missing ? /** @type {string} */ (asked.model) : null;
  return { state, replaced };
}

/** Whether the model can answer this: a class, or a token that can be sampled. */
const isAnswer = ({ classes, vocab_size, never_sampled }, id) =>
  id !== null && id < (classes?.length || vocab_size) && (classes?.length > 0 || !never_sampled.includes(id));

/**
 * `patch` fitted to its model, so that a link or another model never requests what does not exist. Another model resets
 * what refers to the previous one's tokens; another attention resets the choice on a side that it lacks.
 * @param {State} before
 * @param {Patch} patch
 * @param {(state: State) => any} modelOf
 * @param {Declared[]} declared  by the views
 * @returns {Patch}
 */
export function fitted(before, patch, modelOf, declared) {
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
        ...UNCHOSEN,
      }
    : {};
  const another = ["text", "ids", "pixels", "target", "targetIds"].some(
    (name) => name in patch && !same(patch[name], before[name]),
  );
  const kept =
    (changed || another) && patch.viewState !== null
      ? { viewState: mergedViewState(anotherSentence(declared), patch.viewState ?? {}) }
      : {};
  const asked = { ...fresh, ...(another && { answer: null }), ...patch, ...kept, ...quizOrLook(before, patch) };
  const state = { ...before, ...asked, viewState: before.viewState };
  const model = modelOf(state);
  if (!model) return asked;
  Object.assign(asked, readBy(model, state));
  const open = attentionOf(model, state.attention);
  const known = modelOf(before); // after a reload, Back may leave a model that was never loaded
  const was = known ? attentionOf(known, before.attention) : open;
  const lost = (name, sides) => (name in asked || open[sides] === was[sides] ? {} : { [name]: null });
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
    ...(another && !("interventions" in asked) ? { interventions: keptEdits(before, state, model) } : {}),
  };
}

/** A model of pictures reads no text, and one of texts no picture. @param {any} model @param {State} state @returns {Partial<State>} */
const readBy = ({ picture }, { pixels, text, ids, hidden, padCount }) => {
  if (picture) return text || ids || padCount ? { text: "", ids: null, nPrompt: null, padCount: 0 } : {};
  return pixels || hidden.length ? { pixels: null, hidden: [] } : {};
};

/** The interventions of a sentence that goes on, or ends earlier; of another one, those that name no token. @param {State} before @param {State} state @param {any} model */
function keptEdits(before, { text, target, ids, targetIds, padCount }, model) {
  const goesOn = text === before.text;
  const tokens = (ids ? sharedBy(before.ids, ids) : goesOn ? before.nPrompt : 0) ?? 0;
  const added = padCount + (model.special?.first && !writesTarget(model) ? 1 : 0);
  const read = ids === before.ids && goesOn ? Infinity : tokens && tokens + added;
  const sameTarget = target === before.target && targetIds === before.targetIds;
  const wrote = sameTarget ? Infinity : targetIds ? sharedBy(before.targetIds, targetIds) : 0;
  const lengths = { source: read, target: read === Infinity ? wrote : 0 };
  return within(before.interventions, attentionsOf(model), lengths);
}

/**
 * How many ids are the same as before. Those of a typed text are not known here: it is taken to go on.
 * @param {number[]|null} before @param {number[]} ids
 */
const sharedBy = (before, ids) => (before ? sharedLength(before, ids) : ids.length);

/**
 * Look has no place for a question, and its river shows the answers: a quiz opens the stations, and Look ends it.
 * @param {State} before @param {Patch} patch @returns {Partial<State>}
 */
function quizOrLook(before, patch) {
  const { quiz, level } = { ...before, ...patch };
  if (!quiz || atLeast({ level }, "understand")) return {};
  return patch.quiz ? { level: "understand" } : { quiz: false };
}

/**
 * The chosen row of the side that grows stays chosen while a head of the other side is open. Only a translator has both.
 * @param {Patch} asked @param {State} before @param {string} was  whose queries were open @param {string} now
 */
function keptRow(asked, before, was, now) {
  if (was === now || "row" in asked || "query" in asked) return {};
  return was === "target" ? { row: before.query } : { query: before.row, row: null };
}

/** A view that the model or its open attention lacks is replaced by the default, or else by the first available one. */
function offered(id, model, state) {
  const has = (one) => VIEWS.some((view) => view.id === one && hasView(view, model, state));
  if (!VIEWS.some((view) => view.id === id) || has(id)) return id;
  return has(DEFAULTS.view) ? DEFAULTS.view : (VIEWS.find((view) => hasView(view, model, state))?.id ?? id);
}
