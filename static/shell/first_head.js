/** The head that a model opens with, where nobody chose one. */

import { baseOf } from "../model/snapshots.js";

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
