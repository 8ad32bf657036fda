/** What a mechanism learned about positions, as matrices. No DOM. */

/** @typedef {{shape: number[], data: ArrayLike<number>}} Tensor  @typedef {{shape: [number, number], data: Float32Array}} Matrix */

/**
 * The bias of AFT-conv for each head and distance: γ (w − mean) / std + β (Zhai et al. 2021, section 3.2).
 * @param {Tensor} kernel  [head distance] @param {ArrayLike<number>} gamma @param {ArrayLike<number>} beta @returns {Matrix}
 */
export function biasByDistance({ shape: [heads, s], data }, gamma, beta) {
  const out = new Float32Array(heads * s);
  for (let head = 0; head < heads; head++) {
    const own = Array.from({ length: s }, (_, distance) => data[head * s + distance]);
    const mean = own.reduce((one, other) => one + other, 0) / s;
    const std = Math.sqrt(own.reduce((one, other) => one + (other - mean) ** 2, 0) / s);
    own.forEach((w, distance) => {
      out[head * s + distance] = (gamma[head] * (w - mean)) / std + beta[head];
    });
  }
  return { shape: [heads, s], data: out };
}

/**
 * The bias of AFT-full for each pair of positions in the window: w = u vᵀ. With a reach, AFT-local's: 0 at that distance or more.
 * @param {Tensor} u  [position rank] @param {Tensor} v @param {number} [reach] @returns {Matrix}
 */
export function biasByPosition({ shape: [n, rank], data: u }, { data: v }, reach = Infinity) {
  const out = new Float32Array(n * n);
  for (let t = 0; t < n; t++)
    for (let i = 0; i < n; i++) {
      if (Math.abs(t - i) >= reach) continue;
      let dot = 0;
      for (let r = 0; r < rank; r++) dot += u[t * rank + r] * v[i * rank + r];
      out[t * n + i] = dot;
    }
  return { shape: [n, n], data: out };
}

/** The distances of a table's rows: −n … n. @param {number} rows */
export const distancesOf = (rows) => Array.from({ length: rows }, (_, row) => row - (rows - 1) / 2);
