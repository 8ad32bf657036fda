/** Pictures of the weights that are loaded when they are chosen: before and after a change, and lines. */

import { lazily, lazy } from "../../data/lazily.js";
import { isCompared } from "../../model/compare/runs.js";
import { own } from "./own.js";

/** @import { State } from "../../state/store.js" */

export const both = lazily(() => import("./before_after.js"));
export const lines = lazy(() => import("./lines.js"));

/** Those that a state shows; without one, all. @param {State} [state] @param {any} [model] */
export function chosenIn(state, model) {
  if (!state) return [both, lines];
  if (state.compare) return isCompared(state, model) ? [both] : [];
  return own.of(state).as === "lines" ? [lines] : [];
}
