/** The one store. It has a run (run.js), the selection (page_fields.js), and each view's state (view_state.js). */

import { PAGE_FIELDS } from "./page_fields.js";
import { RUN_DEFAULTS } from "./run.js";
import { mergedViewState, sameValue } from "./view_state.js";

/**
 * @import { Pixels } from "../model/patches.js"
 * @import { ViewStates } from "./view_state.js"
 * @import { Intervention } from "./run.js"
 * @import { TextTree } from "./text_tree.js"
 */

/**
 * @typedef {Object} State
 * @property {string|null} model  null until the list of models has arrived, then the server's default
 * @property {string} text
 * @property {boolean} special  whether names of special tokens in the text are read as these tokens
 * @property {boolean} addSpecial  whether what the model reads around a text is added to it: a chat has it already
 * @property {string|null} pair  a second text that the model reads with the first; null: one text
 * @property {number[]|null} ids  when set, the truth about the tokens: a link replays them, nothing is drawn again
 * @property {number[]|null} tokenTypes  the token type of each of `ids`, where a link or a file names them
 * @property {{role: string, content: string}[]} chat  the turns that the text is made of, as they were typed
 * @property {Pixels|null} pixels  a picture, of a model that reads those; then `text` is empty and `ids` null
 * @property {number|null} nPrompt  how many of `ids` were the prompt
 * @property {string|null} target  an encoder-decoder's target as the reader typed it; null: what the model writes
 * @property {number[]|null} targetIds  when set, the truth about the target's tokens, as `ids` is about the sentence's
 * @property {string|null} attention  null: the model's last one
 * @property {number} layer  of the open attention
 * @property {number} head
 * @property {number|null} query  null: the last position
 * @property {number|null} row  the chosen token of the side that grows, while the queries of the open attention are the other side's; null: the last
 * @property {number|null} key  null: where the query looks most
 * @property {string} view  the open view: "model", or a place in it
 * @property {string|null} drawer  the panel that is open over the page: a panel whose place is "drawer"; null: none
 * @property {boolean|null} causal  null: as the model was trained
 * @property {number} padCount  PAD tokens before or after the sentence; `query` and `key` count them
 * @property {"left"|"right"} padSide
 * @property {boolean} padMask  whether they are masked
 * @property {number[]} hidden  the positions of the patches of a picture that are hidden
 * @property {boolean} padFollow  whether position ids follow that mask, or count PADs too
 * @property {number[]|null} cell  [row, col] of the chosen element of a matrix that is not query × key; null: none yet
 * @property {number|null} ffnUnit  the chosen unit of the open layer's FFN
 * @property {number|null} answer  the token (in a classifier, the class) whose logit is explained; null: the most
 * likely
 * @property {Intervention[]} interventions  changes to the run, in this order
 * @property {{at: number, edit: Intervention}[]} paused  edits that are set aside, in no run: `at` is the place among all (model/edits.js)
 * @property {ViewStates} viewState  by view
 * @property {boolean} quiz  answers stay covered until they are guessed: see learn/quiz/quiz.js
 * @property {boolean} compare  before | after | difference: see model/compare/runs.js
 * @property {Object<string, any>|null} against  what the run is compared with: this run with the patch applied (`patched` in
 *   run.js); null: the run with the trained masks
 * @property {Object<string, any>|null} beside  what the second page shows: this run with the patch applied, in another
 *   model; null: nothing
 * @property {number} temperature
 * @property {number} topK
 * @property {number} topP
 * @property {number} minP
 * @property {number} penalty  of repetition
 * @property {string[]} banned  texts that are not written
 * @property {string[]} stop  texts after which Play ends
 * @property {string} begin  how the answer begins
 * @property {number} seed
 * @property {TextTree} tree  of texts: what was written, and the other ways that were tried
 * @property {string|null} lesson  the lesson that is open: a file of learn/lessons/; null: none
 * @property {number} lessonStep  its step, from 1
 * @property {boolean} start  the start page: the first example, until the reader does anything; its link is that of the page alone
 * @property {string|null} file  the saved trace that is shown in place of the server's: see shell/saved_traces.js; never in the URL
 * @property {"system"|"light"|"dark"} theme
 * @property {"normal"|"large"} type
 * @property {"en"|"ja"} lang
 *
 * @typedef {Partial<Omit<State, "viewState">> & {viewState?: ViewStates|null}} Patch  `viewState` is merged into the
 * existing one; null resets it
 */

/** @type {Readonly<State>} */
export const DEFAULTS = Object.freeze({
  ...RUN_DEFAULTS,
  .../** @type {{[K in keyof typeof PAGE_FIELDS]: State[K]}} */ (
    Object.fromEntries(Object.entries(PAGE_FIELDS).map(([name, [, field]]) => [name, field.initial]))
  ),
  viewState: {},
  start: false,
  file: null,
  theme: "system",
  type: "normal",
  lang: "en",
});

/**
 * @param {State} initial
 * @returns {{get: () => State, set: (patch: Patch) => void, replace: (state: State) => void,
 *   subscribe: (listener: (state: State, previous: State) => void) => () => void}}
 */
export function createStore(initial) {
  let state = Object.freeze({ ...initial });
  /** @type {Set<(state: State, previous: State) => void>} */
  const listeners = new Set();

  /** @param {State} next */
  function replace(next) {
    const names = /** @type {(keyof State)[]} */ (Object.keys(next));
    if (names.every((name) => sameValue(state[name], next[name]))) return;
    const previous = state;
    state = Object.freeze({ ...next });
    for (const listener of listeners) listener(state, previous);
  }

  return {
    get: () => state,
    set: ({ viewState = {}, ...patch }) =>
      replace({ ...state, ...patch, viewState: viewState === null ? {} : mergedViewState(state.viewState, viewState) }),
    replace,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
