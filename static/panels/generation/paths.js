/**
 * The paths that a sentence has taken. Pure: `visit` gets every path that is shown and returns what to remember.
 *
 * @typedef {{model: string|null, text: string, ids: number[], nPrompt: number, given?: boolean, typed?: boolean}} Path
 * `text`: the typed sentence; `given`: no token was taken yet; `typed`: the reader wrote all of it
 * @typedef {{tip: Path|null, left: Path[]}} Paths  `tip`: the shown path with its undone tokens; `left`: the paths
 * abandoned by taking another token, newest first
 */

import { sharedLength } from "../../model/written.js";

/** @type {Paths} */
export const NO_PATHS = { tip: null, left: [] };

/** At most this many are kept; the oldest is dropped. */
const MOST = 12;

/**
 * Going back along the tip keeps it, going on extends it, and anything else abandons it, so it is kept as a branch.
 * @param {Paths} paths @param {Path} path @returns {Paths}
 */
export function visit({ tip, left }, path) {
  if (!tip) return { tip: path, left };
  if (sameSentence(tip, path)) {
    if (startsWith(tip.ids, path.ids)) return { tip, left };
    if (startsWith(path.ids, tip.ids)) return { tip: path, left };
  }
  // A sentence that was replaced by typing is a branch only if something was generated from it.
  const worth = sameSentence(tip, path) || (!tip.given && tip.ids.length > tip.nPrompt);
  const others = left.filter((other) => !covers(path, other) && !covers(tip, other));
  const kept = worth && !covers(path, tip) ? [tip, ...others] : others;
  return { tip: path, left: kept.slice(0, MOST) };
}

/** The ids undone from `path`, which Step would replay. @param {Paths} paths @param {Path} path */
export function undone({ tip }, path) {
  return tip && covers(tip, path) ? tip.ids.slice(path.ids.length) : [];
}

/** The branches of the sentence that `path` belongs to. @param {Paths} paths @param {Path} path */
export function branchesOf({ left }, path) {
  return left.filter((branch) => sameSentence(branch, path) && !covers(path, branch));
}

/** Whether `long` begins with all of `short`. @param {number[]} long @param {number[]} short */
function startsWith(long, short) {
  return sharedLength(long, short) === short.length;
}

/** Whether `a` contains everything in `b`. @param {Path} a @param {Path} b */
function covers(a, b) {
  return sameSentence(a, b) && startsWith(a.ids, b.ids);
}

function sameSentence(a, b) {
  return a.model === b.model && a.text === b.text;
}
