/** What changed in every head: the numbers behind the overview. */

import { leakOfHead, movedShare } from "./measure.js";

/**
 * @typedef {{weights: import("../data/wire.js").Decoded, logits: import("../data/wire.js").Tensor, real:
 *   import("./measure.js").Span}} Run  all heads' weights, and the logits [position vocab]
 * @typedef {{layer: number, head: number, moved: number, future: number, pad: number}} HeadChange
 */

/** @type {WeakMap<object, {before: object, made: HeadChange[]}>} */
const known = new WeakMap();

/**
 * Every head, layer by layer. The same array for the same runs.
 * @param {{before: Run, after: Run}} change @returns {HeadChange[]}
 */
export function headChanges({ before, after }) {
  const last = known.get(after.weights);
  if (last?.before === before.weights) return last.made;
  const made = Object.keys(after.weights.tensors).flatMap((name) => layerChanges(name, before, after));
  made.sort((a, b) => a.layer - b.layer || a.head - b.head);
  known.set(after.weights, { before: before.weights, made });
  return made;
}

/** Whether the numbers are the model's own float32: of a long text they travel as float16. */
export function isExact({ before, after }) {
  return [before, after].every(({ weights }) => weights.meta.dtype === "float32");
}

function layerChanges(name, before, after) {
  const layer = Number(name.split(".")[1]);
  const heads = after.weights.tensors[name].shape[0];
  return Array.from({ length: heads }, (_, head) => {
    const [was, is] = [squareOf(before, name, head), squareOf(after, name, head)];
    return { layer, head, moved: movedShare(was, is), ...leakOfHead(is) };
  });
}

/** @param {Run} run @param {string} name @param {number} head @returns {import("./measure.js").Square} */
function squareOf({ weights, real }, name, head) {
  const { data, shape } = weights.tensors[name];
  const size = shape[1];
  return { data: /** @type {any} */ (data).subarray(head * size * size, (head + 1) * size * size), size, real };
}
