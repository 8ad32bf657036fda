/** The effective number of keys of a row of weights: exp of its entropy. 1: a single key; n: n keys alike. No DOM. */

/** exp(−Σ p ln p) of weights that add up to 1. @param {ArrayLike<number>} weights */
export function effectiveKeys(weights) {
  let entropy = 0;
  for (let i = 0; i < weights.length; i++) if (weights[i] > 0) entropy -= weights[i] * Math.log(weights[i]);
  return Math.exp(entropy);
}

/**
 * One row of every head, and of all heads together: the mean of their weights.
 * @param {{shape: number[], data: ArrayLike<number>}} heads  [head, query, key] @param {number} query
 * @returns {{heads: number[], union: number}}
 */
export function effectiveOf({ shape: [nHead, nQuery, nKey], data }, query) {
  const rows = Array.from({ length: nHead }, (_, head) => {
    const from = (head * nQuery + query) * nKey;
    return Array.from({ length: nKey }, (_, key) => data[from + key]);
  });
  const mean = Array.from({ length: nKey }, (_, key) => rows.reduce((sum, row) => sum + row[key], 0) / nHead);
  return { heads: rows.map(effectiveKeys), union: effectiveKeys(mean) };
}
