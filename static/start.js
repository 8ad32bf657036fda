/** What the page begins with: the address, else the defaults, kept inside what the model has. */

import { language } from "./lib/i18n.js";
import { chosenType } from "./controls/large_type.js";
import { chosenTheme } from "./controls/theme.js";
import { DEFAULTS, readUrl } from "./state.js";

/**
 * @param {{default: string, models: any[]}} list  /api/models
 * @param {{start?: {layer: number, head: number}}} examples
 * @returns {{state: import("./state.js").State, replaced: string|null}} `replaced`: the model that the link names and
 *   that is not here
 */
export function initialState(list, examples) {
  const asked = readUrl(location);
  const missing = asked.model !== undefined && !list.models.some((model) => model.name === asked.model);
  const model = missing || asked.model === undefined ? list.default : asked.model;
  const reader = { theme: chosenTheme(), type: chosenType(), lang: language() };
  const state = { ...DEFAULTS, ...examples.start, ...asked, model, ...reader };
  const replaced = missing ? /** @type {string} */ (asked.model) : null;
  return { state: { ...state, ...fitted(state, state, (one) => list.models.find((m) => m.name === one.model)) }, replaced };
}

/**
 * `patch` with layer and head inside the model of `state`, so that a link or another model never asks for what is not there.
 * @param {import("./state.js").State} state  with `patch` in it
 * @param {Partial<import("./state.js").State>} patch
 * @param {(state: import("./state.js").State) => any} modelOf
 */
export function fitted(state, patch, modelOf) {
  const model = modelOf(state);
  if (!model) return patch;
  return {
    ...patch,
    layer: Math.min(state.layer, model.n_layer - 1),
    head: Math.min(state.head, model.n_head - 1),
  };
}
