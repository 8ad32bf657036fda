/** Undo and redo of edits: what a page's edits were before each change. It only watches the state; whoever undoes sets what it answers. */

import { sameValue } from "./view_state.js";

/**
 * @import { State } from "./store.js"
 */

/** What an edit changes. */
export const EDITED = /** @type {const} */ ([
  "interventions",
  "paused",
  "causal",
  "padCount",
  "padSide",
  "padMask",
  "padFollow",
  "hidden",
]);

/** Of another one of these, no edit can be taken back. A text that is continued keeps its edits. */
const SUBJECT = /** @type {const} */ (["model", "text", "pixels", "file", "lesson"]);

/** @typedef {Pick<State, typeof EDITED[number]>} Edits */

/** @typedef {{edits: Edits, between: Edits[]}} Undone  edits that were taken back, and the steps that led to them */

/** @param {State} state @returns {Edits} */
const editsIn = (state) => /** @type {any} */ (Object.fromEntries(EDITED.map((name) => [name, state[name]])));

/** So many changes can be taken back. */
const MOST = 100;

export function createEditHistory() {
  let last = /** @type {State|null} */ (null);
  let past = /** @type {Edits[]} */ ([]);
  let future = /** @type {Undone[]} */ ([]);
  let takesBack = false;

  /**
   * To be called with every state. One with earlier edits, also by the browser's Back, has taken back what came after them: all of it is
   * one step, which one redo brings back.
   * @param {State} state
   */
  function see(state) {
    const [before, takenBack] = [last, takesBack];
    [last, takesBack] = [state, false];
    if (!before || SUBJECT.some((name) => !sameValue(before[name], state[name]))) {
      [past, future] = [[], []];
      return;
    }
    const [was, now] = [editsIn(before), editsIn(state)];
    if (sameValue(was, now)) return;
    const at = past.findLastIndex((one) => sameValue(now, one));
    const [next] = future.slice(-1);
    if (at >= 0 || takenBack) {
      future = [...future, { edits: was, between: past.slice(at + 1) }];
      past = past.slice(0, Math.max(at, 0));
    } else if (next && sameValue(now, next.edits)) {
      future.pop();
      past.push(was, ...next.between);
    } else {
      past = [...past, was].slice(-MOST);
      future = [];
    }
  }

  return {
    see,
    /** The next change takes edits back that no change here made: a link brought them. */
    takingBack: () => {
      takesBack = true;
    },
    /** The edits to return to; null: there are none. */
    undo: () => past.at(-1) ?? null,
    redo: () => future.at(-1)?.edits ?? null,
  };
}
