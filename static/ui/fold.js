/** Details on demand: closed until they are asked for, open from the start where everything is shown. */

import { atLeast } from "../state/levels.js";
import { h } from "./dom.js";

/**
 * @import { State } from "../state/store.js"
 * @import { Child } from "./dom.js"
 */

/** @param {string} name  for tests @param {Child} title @param {...Child} content @returns {HTMLDetailsElement} */
export const buildFold = (name, title, ...content) =>
  h("details", { class: "fold", dataset: { testid: `fold-${name}` } }, h("summary", null, title), content);

/** Opens or closes it when the page's level changes. In between it is the reader's. @param {HTMLDetailsElement} fold @param {State} state */
export function followLevel(fold, state) {
  if (fold.dataset.level === state.level) return;
  fold.dataset.level = state.level;
  fold.open = atLeast(state, "everything");
}
