/**
 * How a random number picks a token: the probabilities of the kept candidates lie side by side in [0, 1), the most
 * likely first, and the number falls on one of them. The same order as `draw` in model/sampling.py.
 */

/**
 * @typedef {{id: number|null, from: number, to: number}} Share  id null: all tokens beyond the candidates that were
 * sent
 * @param {{candidates: {id: number, after: number}[]}} prediction
 * @returns {Share[]}
 */
export function sharesOf({ candidates }) {
  const kept = candidates.filter(({ after }) => after > 0).sort((a, b) => b.after - a.after || a.id - b.id);
  /** @type {Share[]} */
  const shares = [];
  let to = 0;
  for (const { id, after } of kept) {
    shares.push({ id, from: to, to: to + after });
    to += after;
  }
  // What is left for the rest of the vocabulary; a difference of 1e-6 is rounding on the wire.
  if (to < 1 - 1e-6) shares.push({ id: null, from: to, to: 1 });
  return shares;
}
