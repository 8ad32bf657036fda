/** The same sentence, read by another model. */

import { writesTarget } from "../model/description.js";
import { DEFAULTS } from "../state/store.js";

/**
 * A translation is read greedily until someone turns the temperature up; a story goes
 * on as it did.
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
