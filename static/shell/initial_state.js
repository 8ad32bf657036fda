/** The first state of the page: from the address, otherwise the defaults; and what another model opens with. */

import { writesTarget } from "../model/description.js";
import { blank, fits, readsPhotos } from "../model/patches.js";
import { baseOf } from "../model/trainings.js";
import { readLink } from "../state/link.js";
import { DEFAULTS } from "../state/store.js";
import { merged } from "../state/text_tree.js";
import { language } from "../ui/i18n.js";
import { remembered } from "../ui/remembered.js";
import { isBare, knownAddress, namesOnlyModel, treeInTab } from "./address.js";
import { examplePatch } from "./examples.js";
import { chosenTheme, chosenType } from "./reader_settings.js";
import { startPatch } from "./start.js";

/**
 * @import { Models } from "../data/models.js"
 * @import { Patch, State } from "../state/store.js"
 * @import { Declared } from "../state/view_state.js"
 */

// What a model opens with after another one, and its head if none was chosen.

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

/** A picture that the model never saw, or a blank one to draw on; null for photos, which the reader chooses. @param {any} model @returns {number[][]|null} */
const firstPicture = (model) => (readsPhotos(model) ? null : (model.example?.pixels ?? blank(model.picture.size)));

/** @typedef {{layer: number, head: number}} Opened  @typedef {{model: string, claim?: object, text?: string} & Partial<Opened>} Card */

/**
 * The head of the model's first card that says what its answer depends on (tests/test_claims.py checks the claim). Without
 * such a card, the model's first head.
 * @param {{examples: Card[]}} examples @param {string} model  or a snapshot of it @returns {Partial<Opened>}
 */
export function firstHead({ examples }, model) {
  const card = examples.find((one) => one.model === baseOf(model) && one.claim && one.layer !== undefined);
  return card ? { layer: card.layer, head: card.head } : {};
}

/**
 * What the address says, or what the reader last had where it says nothing, over the defaults; not yet fitted to its model.
 * @param {Models} models
 * @param {{examples: Card[]}} examples
 * @param {Declared[]} declared  by the views
 * @returns {{state: State, replaced: string|null, kept: boolean}} `replaced`: the model that the link names and the server does
 * not have; `kept`: it is what the reader last had
 */
export function initialState(models, examples, declared) {
  const here = knownAddress();
  const kept = isBare(here) ? remembered("place") || null : null;
  const address = kept ?? here;
  const asked = readLink(address, declared);
  const missing = asked.model !== undefined && !models.has(asked.model);
  const model = missing || !asked.model ? models.first : asked.model;
  const reader = { theme: chosenTheme(), type: chosenType(), lang: language() };
  const chosen = asked.attention !== undefined || asked.layer !== undefined || asked.head !== undefined;
  const start = chosen ? {} : firstHead(examples, model);
  const card = namesOnlyModel(address) && !missing && examples.examples.find((one) => one.model === model);
  const fresh = isBare(address)
    ? startPatch(examples, models.list, models.first, declared)
    : card && /** @type {Patch} */ (examplePatch(card, declared));
  const state = /** @type {State} */ ({ ...DEFAULTS, ...start, ...asked, model, ...reader, ...fresh });
  const [own, came] = [treeInTab(), asked.tree];
  if (own) state.tree = came ? merged(own, came) : own;
  const replaced = missing ? /** @type {string} */ (asked.model) : null;
  return { state, replaced, kept: kept !== null };
}
