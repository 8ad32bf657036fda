/** What a model opens with: another one in its place, and the head where nobody chose one. */

import { writesTarget } from "../model/description.js";
import { baseOf } from "../model/snapshots.js";
import { DEFAULTS } from "../state/store.js";

/**
 * A translation is greedy until the reader raises the temperature; for a story the settings stay.
 * @param {any} model @param {import("../state/store.js").State} state
 */
export function switchedTo(model, { temperature }) {
  const greedy = writesTarget(model)
    ? { temperature: 0 }
    : temperature === 0
      ? { temperature: DEFAULTS.temperature }
      : {};
  return { model: model.name, ids: null, nPrompt: null, ...greedy };
}

/** @typedef {{layer: number, head: number}} Opened  @typedef {{model: string, claim?: object} & Partial<Opened>} Card */

/**
 * The head of the model's first card that says what decides its answer: tests/test_claims.py holds that this head does.
 * Without such a card, the first head of all.
 * @param {{examples: Card[]}} examples @param {string} model  or a snapshot of it @returns {Partial<Opened>}
 */
export function firstHead({ examples }, model) {
  const card = examples.find((one) => one.model === baseOf(model) && one.claim && one.layer !== undefined);
  return card ? { layer: card.layer, head: card.head } : {};
}
