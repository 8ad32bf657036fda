/** What the dock and the panel of generation share: the paths of this page, and what writes on. */

import { createGenerationPlayer } from "./player.js";
import { createSession } from "./session.js";

/** @import { Actions } from "../view.js" */

/** @typedef {{session: ReturnType<typeof createSession>, player: ReturnType<typeof createGenerationPlayer>, onChange: (draw: () => void) => void}} Writer */

/** By the element of the page. @type {WeakMap<HTMLElement, Writer>} */
const writers = new WeakMap();

/** @param {Actions} actions @returns {Writer} */
export function writerOf(actions) {
  const known = writers.get(actions.page);
  if (known) return known;
  /** @type {Set<() => void>} */
  const draws = new Set();
  const session = createSession(actions);
  const player = createGenerationPlayer(session, {
    get: actions.get,
    onChange: () => draws.forEach((draw) => draw()),
    isDrawn: () => !actions.isLoading(),
  });
  const writer = { session, player, onChange: (/** @type {() => void} */ draw) => void draws.add(draw) };
  writers.set(actions.page, writer);
  return writer;
}
