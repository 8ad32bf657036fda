/** What a model opens with: another one in its place, and the head where nobody chose one. */

import { writesTarget } from "../model/description.js";
import { blank, fits, readsPhotos } from "../model/patches.js";
import { baseOf } from "../model/snapshots.js";
import { DEFAULTS } from "../state/store.js";

/** @import { Patch, State } from "../state/store.js" */

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
