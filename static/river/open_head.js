/** What an open head needs in the picture: numbers and code. */

import { lazily } from "../data/lazily.js";
import inspector from "../panels/inspector/inspector.js";
import { asOfWeights, isDeep, riverState } from "./view_state.js";

/** @import { State } from "../state/store.js" */

export const headDrawing = lazily(() => import("./open_head_drawing.js"));

/** For a head its numbers, for a cell its arithmetic. @param {State} state @param {any} model @returns {string[]} */
export function headNeeds(state, model) {
  if (!isDeep(state)) return [];
  if (riverState.of(state).depth === "head") return ["detail"];
  return ["detail", ...inspector.needs(asOfWeights(state), model)];
}

/** Without a state: all. @param {State} [state] @param {any} [model] */
export async function loadHead(state, model) {
  if (!state) return headDrawing.load();
  if (isDeep(state)) await Promise.all([headDrawing.load(), inspector.load(asOfWeights(state), model)]);
}
