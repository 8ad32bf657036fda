/** The one store, and its mirror in the URL: a link reproduces the picture. */

import { FIELDS } from "./url_fields.js";

/**
 * @typedef {Object} State
 * @property {string|null} model  null until the list of models is here: then the server's default
 * @property {string} text
 * @property {number[]|null} ids  when set, the truth about the tokens: a link replays them, nothing is drawn again
 * @property {number|null} nPrompt  how many of `ids` were the prompt
 * @property {string|null} target  an encoder-decoder's target as the reader typed it; null: what the model writes
 * @property {number[]|null} targetIds  when set, the truth about the target's tokens, as `ids` is about the sentence's
 * @property {string|null} attention  null: the model's last one
 * @property {number} layer  of the open attention
 * @property {number} head
 * @property {number|null} query  null: the last position
 * @property {number|null} key  null: where the query looks most
 * @property {string} view  a station of the ribbon
 * @property {boolean|null} causal  null: as the model was trained
 * @property {number} padCount  PAD tokens beside the sentence; `query` and `key` count them
 * @property {"left"|"right"} padSide
 * @property {boolean} padMask  whether they are masked
 * @property {boolean} padFollow  whether position ids follow that mask, or count PADs too
 * @property {"matrix"|"lines"} drawAs  how the weights are drawn
 * @property {null|"mean"|number[]} lineHeads  whose lines: the open head's, the mean of its layer, or these of its layer
 * @property {import("../model/token_groups.js").Unit} unit  what a row and a column of the weights is
 * @property {string} text2  the sentence beside the first in a batch: see controls/batch.js
 * @property {string|null} step  of the walk through a block; null: its first
 * @property {number[]|null} cell  [row, col] of what is looked at, where that is no query × key; null: nothing yet
 * @property {number|null} ffnUnit  the chosen unit of the open layer's FFN
 * @property {number|null} answer  the token (of a classifier the class) whose logit is explained; null: the likeliest
 * @property {number[]|null} swap  two places of the sentence that change places
 * @property {boolean} quiz  answers stay covered until they are guessed: see controls/quiz.js
 * @property {boolean} compare  before | after | difference: see compare/runs.js
 * @property {number} temperature
 * @property {number} topK
 * @property {number} topP
 * @property {number} seed
 * @property {string|null} file  the saved trace that is shown in place of the server's: see file_mode.js; never in the URL
 * @property {"system"|"light"|"dark"} theme
 * @property {"normal"|"large"} type
 * @property {"en"|"ja"} lang
 */

/** @type {Readonly<State>} */
export const DEFAULTS = Object.freeze({
  model: null,
  text: "",
  ids: null,
  nPrompt: null,
  target: null,
  targetIds: null,
  attention: null,
  layer: 0,
  head: 0,
  query: null,
  key: null,
  view: "weights",
  causal: null,
  padCount: 0,
  padSide: "left",
  padMask: true,
  padFollow: true,
  drawAs: "matrix",
  lineHeads: null,
  unit: "tokens",
  text2: "",
  step: null,
  cell: null,
  ffnUnit: null,
  answer: null,
  swap: null,
  quiz: false,
  compare: false,
  temperature: 0.8,
  topK: 20,
  topP: 0.95,
  seed: 7,
  file: null,
  theme: "system",
  type: "normal",
  lang: "en",
});

/**
 * @param {State} initial
 * @returns {{get: () => State, set: (patch: Partial<State>) => void,
 *   subscribe: (listener: (state: State, previous: State) => void) => () => void}}
 */
export function createStore(initial) {
  let state = Object.freeze({ ...initial });
  /** @type {Set<(state: State, previous: State) => void>} */
  const listeners = new Set();
  return {
    get: () => state,
    set(patch) {
      const changed = Object.keys(patch).some((name) => !same(state[name], patch[name]));
      if (!changed) return;
      const previous = state;
      state = Object.freeze({ ...state, ...patch });
      for (const listener of listeners) listener(state, previous);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/**
 * What the URL says; what it does not say, or says in a way that cannot be read, is left out.
 * @param {{search: string}} location
 * @returns {Partial<State>}
 */
export function readUrl(location) {
  const params = new URLSearchParams(location.search);
  /** @type {Partial<State>} */
  const found = {};
  for (const [name, [param, read]] of Object.entries(FIELDS)) {
    const text = params.get(param);
    const value = text === null ? undefined : read(text);
    if (value !== undefined) found[name] = value;
  }
  return found;
}

/** The path and query that reproduce `state`. Language and theme stay with the reader. @param {State} state */
export function urlOf(state) {
  const params = new URLSearchParams();
  for (const [name, [param, , write]] of Object.entries(FIELDS)) {
    if (!same(state[name], DEFAULTS[name])) params.set(param, write(state[name]));
  }
  const query = params.toString();
  return query ? `/?${query}` : "/";
}

/** @param {any} a @param {any} b */
export function same(a, b) {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => item === b[i]);
  return Object.is(a, b);
}
