/** Which runs the page sets beside each other. Pure: states in, states out. */

/** @typedef {import("../state.js").State} State */

/** Whether the sentence is read as the model was trained to read it: then the other padding switches mean nothing. */
export function isTrained({ causal, padCount }) {
  return causal && padCount === 0;
}

/** The state with the sentence read as in training. @param {State} state @returns {State} */
export function trainedOf(state) {
  return { ...state, causal: true, padCount: 0 };
}

/**
 * Before: as in training. After: as the switches say; where that is the same, with the causal mask taken away.
 * @param {State} state @returns {{before: State, after: State}}
 */
export function compared(state) {
  return { before: trainedOf(state), after: isTrained(state) ? { ...state, causal: false } : state };
}

/** The one of the two that the page does not show by itself. @param {State} state @returns {State} */
export function otherOf(state) {
  const { before, after } = compared(state);
  return isTrained(state) ? after : before;
}

/** The single run that a padded one should equal: the same switches, no PAD. @param {State} state @returns {State} */
export function aloneOf(state) {
  return { ...state, padCount: 0 };
}

/** How far PADs move the sentence: the index of its first token. @param {Pick<State, "padCount"|"padSide">} state */
export function offsetOf({ padCount, padSide }) {
  return padSide === "left" ? padCount : 0;
}

/**
 * A change of the padding that leaves the chosen query and key on their tokens.
 * @param {State} state @param {Partial<State>} patch @returns {Partial<State>}
 */
export function keepingPlace(state, patch) {
  const offset = offsetOf({ ...state, ...patch });
  const move = (index) => {
    const moved = index === null ? -1 : index - offsetOf(state) + offset;
    return moved >= offset ? moved : null;
  };
  return { ...patch, query: move(state.query), key: move(state.key) };
}
