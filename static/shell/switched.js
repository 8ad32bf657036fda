/** Opens another model with the same sentence. */

import { writesTarget } from "../model/description.js";
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
