/**
 * The same sentence in another model: its state follows the page's, so that both show the same token, view and edits.
 * Pure: from states to states.
 */

import { index, text } from "../../state/fields.js";
import { SAMPLING } from "../../state/page_fields.js";
import { patched, runOf, stateOf } from "../../state/run.js";
import { viewState } from "../../state/view_state.js";
import { attentionOf, attentionsOf } from "../description.js";

/**
 * @import { Intervention } from "../../state/run.js"
 * @import { Patch, State } from "../../state/store.js"
 * @import { Attention } from "../description.js"
 * @import { Token } from "../labels.js"
 */

/** Which head is open in the other model: null where it is the page's own. */
export const besideState = viewState("beside", { attention: text(null), layer: index(null), head: index(null) });

/** Whether another model is shown beside the page's. A quiz covers answers on one page only. @param {State} state */
export const isBeside = (state) => state.beside !== null && !state.quiz && state.file === null && state.lesson === null;

/** The name of the other model. @param {State} state */
export const besideModel = (state) => patched(runOf(state), state.beside ?? {}).model;

/** The patch that removes a run's edits: the masks as trained, and no interventions. */
export const UNEDITED = Object.freeze({
  masks: { causal: null, padding: true },
  pad: { follow: true },
  interventions: [],
});

/** Whether the page's run has edits. @param {State} state */
export const isEdited = ({ causal, padMask, padFollow, interventions }) =>
  causal !== null || !padMask || !padFollow || interventions.length > 0;

/** Whether two models read the same tokens. @param {any} a @param {any} b */
export const sameTokens = (a, b) =>
  a.vocab_size === b.vocab_size && JSON.stringify(a.special) === JSON.stringify(b.special);

/**
 * The state of the other model, not yet fitted to it.
 * @param {State} state  of the page @param {{a: any, b: any}} models
 * @param {{spelled: string, at: (index: number|null) => number|null}} tokens  the page's text, and from its tokens to the other's
 * @returns {State}
 */
export function besideOf(state, { a, b }, { spelled, at }) {
  const run = stateOf(patched(runOf(state), state.beside ?? {}));
  const same = sameTokens(a, b);
  const { attention, layer, head } = besideState.of(state);
  return {
    ...state,
    ...run,
    ...(same ? {} : { ids: null, nPrompt: null, text: run.ids ? spelled : run.text, answer: null }),
    interventions: same ? run.interventions.filter((one) => canBe(one, b)) : [],
    attention: attention ?? state.attention,
    layer: layer ?? state.layer,
    head: head ?? state.head,
    ...chosenThere(state, [attentionOf(a, state.attention), attentionOf(b, attention ?? state.attention)], at),
    compare: false,
    against: null,
    quiz: false,
    ffnUnit: null,
    cell: null,
  };
}

/** The sides that the chosen tokens are of, by their names. */
const SIDES = /** @type {const} */ ({ query: "queries", key: "keys" });

/**
 * The chosen tokens in another attention: only those of the sentence, because two models write different targets.
 * @param {State} state @param {[Attention, Attention]} open  there and here @param {(index: number|null) => number|null} at
 */
function chosenThere(state, [from, to], at) {
  /** @param {"query"|"key"} name */
  const placed = (name) => (from[SIDES[name]] === "source" && to[SIDES[name]] === "source" ? at(state[name]) : null);
  return { query: placed("query"), key: placed("key"), row: null };
}

/** Whether a model has the head that an intervention changes. @param {Intervention} one @param {any} model */
function canBe({ where: { attention: id, layer = 0, head = 0 } }, model) {
  const found = attentionsOf(model).find((one) => !id || one.id === id);
  return found !== undefined && layer < found.n_layer && head < found.n_head;
}

/** What the reader chooses there and the page follows; ids only where both read the same tokens. */
const SHARED = /** @type {const} */ (["view", "ids", "nPrompt", ...SAMPLING]);

/**
 * The change of the page that a change of the other model's state asks for; an open head stays the other model's own.
 * @param {State} page  what it shows @param {{state: State, previous: State}} other @param {{a: any, b: any}} models
 * @param {(index: number|null) => number|null} at  from the other's tokens to the page's
 * @returns {Patch}
 */
export function askedBack(page, { state, previous }, { a, b }, at) {
  const same = sameTokens(a, b);
  /** @type {Object<string, any>} */
  const patch = {};
  if (state.model !== previous.model) patch.beside = { ...page.beside, model: state.model }; // chosen in its table
  for (const name of SHARED) {
    if (state[name] === previous[name] || (!same && (name === "ids" || name === "nPrompt"))) continue;
    patch[name] = state[name];
  }
  const [here, there] = [attentionOf(a, page.attention), attentionOf(b, state.attention)];
  for (const name of /** @type {const} */ (["query", "key"])) {
    const both = [here, there].every((one) => one[SIDES[name]] === "source");
    if (both && state[name] !== previous[name]) patch[name] = at(state[name]);
  }
  if (same && state.interventions !== previous.interventions)
    patch.interventions = [...page.interventions.filter((one) => !canBe(one, b)), ...state.interventions];
  const open = ["attention", "layer", "head"].some(
    (name) => /** @type {any} */ (state)[name] !== /** @type {any} */ (previous)[name],
  );
  const views = Object.entries(state.viewState).filter(([view, values]) => values !== previous.viewState[view]);
  const { attention, layer, head } = state;
  const changed = {
    ...Object.fromEntries(views),
    ...(open ? besideState.patch({ attention, layer, head }).viewState : {}),
  };
  return { ...patch, ...(Object.keys(changed).length ? { viewState: changed } : {}) };
}

/**
 * From the tokens of one model to those of another: the token that has the same character, spaces not counted, because a
 * model may read its text with others. null if none has it.
 * @param {Read} from @param {Read} to
 * @returns {(index: number|null) => number|null}
 *
 * @typedef {{tokens: Pick<Token, "start"|"end">[], text: string}} Read  spans count code points of `text`
 */
export function byCharacters(from, to) {
  const [there, back] = [inked(from), inked(to)];
  return (index) => {
    const place = index === null ? undefined : there[index]?.[0];
    const found = place === undefined ? -1 : back.findIndex((places) => places.includes(place));
    return found < 0 ? null : found;
  };
}

/** For each token, which of the text's characters it has, not counting spaces. @param {Read} read */
function inked({ tokens, text: whole }) {
  let n = 0;
  const places = [...whole].map((character) => (character.trim() === "" ? null : n++));
  return tokens.map(({ start, end }) => places.slice(start, end).filter((place) => place !== null));
}
