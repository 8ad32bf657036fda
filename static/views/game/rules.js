/**
 * Break the model, a game: make an answer fall, or another one lead, with as few connections hidden as possible. Its puzzles, with the
 * fewest that a search has found (tests/test_puzzles.py runs them on the weights), and what counts. No DOM.
 */

import { attentionsOf } from "../../model/description.js";
import { isPlain, runOf } from "../../state/run.js";
import { GAME_MODEL } from "../view_states.js";

/**
 * @import { Intervention } from "../../state/run.js"
 * @import { State } from "../../state/store.js"
 * @import { Model } from "../../model/description.js"
 */

/** One head of one layer. @typedef {{layer: number, head: number, query: number, key: number}} Cell */
/** @typedef {[layer: number, head: number, query: number, key: number]} Cut */
/**
 * @typedef {Object} Puzzle
 * @property {string} text @property {number[]} ids  of its tokens
 * @property {number} answer  the token that the model gives @property {string} named
 * @property {number|null} word  the token that has to lead instead; null: the answer has to fall below `BELOW` @property {string|null} wanted
 * @property {Cut[]} best  the fewest known
 */

/** The answer's probability has to fall below this. */
export const BELOW = 0.05;
/** From this layer on, the last token's connections to the answer itself are locked: they would be the whole puzzle. */
export const LOCKED_FROM = 4;

// biome-ignore format: a puzzle takes two lines
/** Text, ids, answer, its name, the word wanted, its name, the best known cuts. @type {[string, number[], number, string, number|null, string|null, Cut[]][]} */
const ROWS = [
  ["A bad fox came. The bad", [32, 1247, 1725, 607, 13, 335, 1247], 1725, "fox", 3196, "wolf",
    [[0, 4, 2, 0], [1, 5, 2, 0], [2, 5, 2, 0], [4, 5, 2, 0]]],
  ["A bad fox came. The bad", [32, 1247, 1725, 607, 13, 335, 1247], 1725, "fox", null, null,
    [[0, 4, 2, 0], [1, 1, 6, 4], [2, 0, 6, 5], [3, 5, 6, 5], [4, 3, 2, 1], [4, 5, 6, 4]]],
  ["She had a blue hat. The blue", [1215, 358, 258, 1295, 1544, 13, 335, 1295], 1544, "hat", 986, "ball",
    [[0, 4, 7, 0], [3, 4, 7, 4], [3, 5, 4, 3], [4, 3, 4, 3]]],
  ["The happy dog ran. The happy", [396, 532, 843, 796, 13, 335, 532], 843, "dog", null, null,
    [[3, 1, 6, 5], [3, 3, 6, 0], [3, 3, 6, 4], [3, 3, 6, 5], [3, 5, 6, 0], [3, 5, 6, 4], [3, 5, 6, 5]]],
  ["Sam has a shiny key. The shiny", [2820, 959, 258, 1658, 2515, 13, 335, 1658], 2515, "key", null, null,
    [[0, 4, 4, 0], [1, 7, 7, 6], [2, 0, 7, 0], [2, 0, 7, 2], [2, 0, 7, 5], [2, 0, 7, 6], [3, 5, 7, 6]]],
  ["A big queen jumped. The big", [32, 513, 3153, 1929, 13, 335, 513], 3153, "queen", null, null,
    [[2, 4, 6, 2], [3, 4, 6, 2], [3, 5, 2, 1], [4, 3, 2, 1]]],
  ["The clever owl hid. The clever", [396, 2494, 1631, 3259, 13, 335, 2494], 1631, "owl", 1725, "fox",
    [[3, 1, 6, 5], [3, 5, 2, 1], [3, 5, 6, 5], [3, 7, 2, 0]]],
  ["The funny snake jumped. The funny", [396, 2061, 2904, 1929, 13, 335, 2061], 2904, "snake", null, null,
    [[1, 7, 6, 0], [1, 7, 6, 4], [1, 7, 6, 5], [3, 5, 6, 5]]],
  ["A lazy wolf cried. The lazy", [32, 3818, 3196, 1103, 13, 335, 3818], 3196, "wolf", 1037, "bear",
    [[3, 4, 6, 2], [3, 5, 2, 1], [3, 5, 6, 5], [4, 0, 2, 1], [4, 3, 2, 1]]],
  ["The kind lion ran. The kind", [396, 741, 1994, 796, 13, 335, 741], 1994, "lion", null, null,
    [[0, 4, 6, 2], [2, 4, 6, 2], [3, 4, 6, 2], [4, 3, 2, 0], [4, 3, 2, 1]]],
  ["The bad bird ran. The bad", [396, 1247, 675, 796, 13, 335, 1247], 675, "bird", null, null,
    [[2, 0, 6, 5], [3, 1, 6, 5], [3, 3, 6, 0], [3, 3, 6, 5], [3, 5, 6, 5], [5, 2, 6, 5]]],
  ["The green rabbit smiled. The green", [396, 1273, 1617, 756, 13, 335, 1273], 1617, "rabbit", null, null,
    [[2, 0, 1, 0], [2, 3, 1, 0], [3, 3, 1, 0], [3, 5, 1, 0], [3, 5, 2, 1], [4, 3, 1, 0]]],
  ["The lonely frog sat. The lonely", [396, 2263, 1857, 941, 13, 335, 2263], 1857, "frog", null, null,
    [[3, 1, 6, 4], [3, 1, 6, 5], [3, 3, 6, 0], [3, 3, 6, 4], [3, 3, 6, 5], [3, 5, 6, 5]]],
  ["The proud horse jumped. The proud", [396, 1025, 1945, 1929, 13, 335, 1025], 1945, "horse", 2809, "elephant",
    [[3, 5, 2, 0], [3, 5, 2, 1], [3, 7, 2, 0], [3, 7, 2, 1], [4, 3, 2, 0], [4, 3, 2, 1]]],
  ["The sad boy cried. The sad", [396, 786, 580, 1103, 13, 335, 786], 580, "boy", null, null,
    [[1, 7, 6, 0], [1, 7, 6, 4], [1, 7, 6, 5], [2, 0, 6, 5], [3, 1, 6, 5], [3, 5, 6, 5], [4, 7, 6, 5]]],
];

/** @type {Puzzle[]} */
export const PUZZLES = ROWS.map(([text, ids, answer, named, word, wanted, best]) => ({
  ...{ text, ids, answer, named, word, wanted, best },
}));

/** The number of the puzzle of a day. @param {number} now  milliseconds since 1970 */
export const puzzleOfDay = (now) => Math.floor(now / 86_400_000) % PUZZLES.length;

/** The edit that hides a connection. @param {Cut} cut @param {string} attention @returns {Intervention} */
export const cutEdit = ([layer, head, query, key], attention) => ({
  ...{ kind: "mask", where: { attention, layer, role: "mask", head, query, key }, allow: false },
});

/** The state in which a puzzle begins. @param {Puzzle} puzzle */
export const begun = ({ text }) => ({
  ...{ model: GAME_MODEL, text, ids: null, pair: null, special: false, target: null, targetIds: null },
  ...{ causal: null, padCount: 0, padMask: true, padFollow: true, interventions: [], paused: [], against: null },
  ...{ query: null, key: null, answer: null, compare: false },
});

/** Whether this puzzle is on the page, with its connections hidden or not. @param {State} state @param {Puzzle} puzzle */
export const isPlayed = (state, { text }) =>
  state.file === null && state.text === text && isPlain(runOf({ ...state, interventions: [] })) && state.ids === null;

/** The connections that edits hide, each once; and how many edits do anything else. @param {Intervention[]} interventions @param {Model} model */
export function hiddenIn(interventions, model) {
  const [attention] = attentionsOf(model);
  const all = (/** @type {number|null|undefined} */ one, /** @type {number} */ n) =>
    one == null ? Array.from({ length: n }, (_, i) => i) : [one];
  const cells = /** @type {Map<string, Cell>} */ (new Map());
  let others = 0;
  for (const { kind, where, allow } of interventions) {
    const { query, key } = where;
    if (kind !== "mask" || allow !== false || query == null || key == null) {
      others++;
      continue;
    }
    for (const layer of all(where.layer, attention.n_layer))
      for (const head of all(where.head, attention.n_head))
        cells.set([layer, head, query, key].join(), { layer, head, query, key });
  }
  return { cells: [...cells.values()], others };
}

/** Whether a connection cannot be hidden. @param {Cell} cell @param {Puzzle} puzzle */
export const isLocked = ({ layer, query, key }, { ids, answer }) =>
  query === key || (layer >= LOCKED_FROM && query === ids.length - 1 && ids[key] === answer);

/**
 * How far a reader is. `p`: the answer's probability, or what it is at most; null: not known yet.
 * @param {Puzzle} puzzle @param {Intervention[]} interventions @param {Model} model @param {{id: number, before: number}[]|null} candidates  of the last token, likeliest first
 */
export function judged(puzzle, interventions, model, candidates) {
  const { cells, others } = hiddenIn(interventions, model);
  const locked = cells.filter((cell) => isLocked(cell, puzzle)).length;
  const found = candidates?.find(({ id }) => id === puzzle.answer) ?? candidates?.at(-1);
  const [p, leads] = [found?.before ?? null, candidates?.[0] ?? null];
  const reached = puzzle.word === null ? p !== null && p < BELOW : leads?.id === puzzle.word;
  return { n: cells.length, locked, others, p, leads, solved: reached && !locked && !others };
}
