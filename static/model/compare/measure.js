/** How different two runs are, and what leaks. Pure functions on numbers, in float64. */

/**
 * @import { Token } from "../labels.js"
 * @import { Side } from "../sides.js"
 * @import { Alignment } from "./compare.js"
 */

/**
 * @typedef {{start: number, end: number}} Span  the sentence's own tokens in a run; the rest is PAD
 * @typedef {{data: ArrayLike<number>, size: number, real: Span, rows?: Span, later?: boolean}} Square  a head's weights:
 *   `size` keys a row, of which `real` are the sentence's; `rows`: the queries that count, where they are another side's;
 *   `later`: whether what comes after the query is a leak (by default), as it is where a model reads one way
 * @typedef {{future: number, pad: number}} Leak  shares of a row's weight, or of a head's
 */

/** Whether a token is the sentence's own, not a PAD. @param {Span} real @param {number} index */
export function inside({ start, end }, index) {
  return index >= start && index < end;
}

/**
 * Total variation between each row of the sentence before and after: ½ Σ|a − b|, the share of the weight that moved
 * elsewhere. A key of only one run (a PAD) has no weight in the other.
 * @param {Square} before @param {Square} after
 * @param {{queries: Alignment, keys: Alignment}} at  from before to after
 * @returns {number} the mean over the sentence's rows; 0 if none is in both runs
 */
export function movedShare(before, after, at) {
  const keys = Array.from({ length: before.size }, (_, key) => at.keys.at(key) ?? -1);
  const met = new Set(keys);
  const added = Array.from({ length: after.size }, (_, key) => key).filter((key) => !met.has(key));
  const { start, end } = rowsOf(before);
  let [total, rows] = [0, 0];
  for (let query = start; query < end; query++) {
    const there = at.queries.at(query);
    if (there === null) continue;
    const [from, to] = [query * before.size, there * after.size];
    keys.forEach((key, index) => {
      const is = key >= 0 && key < after.size ? after.data[to + key] : 0;
      total += Math.abs(is - before.data[from + index]);
    });
    for (const key of added) total += after.data[to + key];
    rows++;
  }
  return rows === 0 ? 0 : total / 2 / rows;
}

/** The queries that count. @param {Square} square @returns {Span} */
const rowsOf = ({ rows, real }) => rows ?? real;

/**
 * The weight of one row on later tokens and on PADs, whether or not a mask forbids it.
 * @param {Square} square @param {number} query @returns {Leak}
 */
export function leakOfRow({ data, size, real, later = true }, query) {
  const leak = { future: 0, pad: 0 };
  for (let key = 0; key < size; key++) {
    const weight = data[query * size + key];
    if (!inside(real, key)) leak.pad += weight;
    else if (later && key > query) leak.future += weight;
  }
  return leak;
}

/**
 * The same for each token of another run's sentence, from its own row here.
 * @param {Square} square @param {Side} queries  of that run @param {Alignment} at  from it to this one
 * @returns {(Leak & {token: Token})[]}
 */
export function leakRows(square, { tokens, real }, at) {
  return tokens.slice(real.start, real.end).flatMap((token) => {
    const query = at.at(token.index);
    return query === null ? [] : [{ token, ...leakOfRow(square, query) }];
  });
}

/** The same for a head: the mean over the sentence's rows. @param {Square} square @returns {Leak} */
export function leakOfHead(square) {
  const { start, end } = rowsOf(square);
  const sum = { future: 0, pad: 0 };
  for (let query = start; query < end; query++) {
    const { future, pad } = leakOfRow(square, query);
    sum.future += future;
    sum.pad += pad;
  }
  return { future: sum.future / (end - start), pad: sum.pad / (end - start) };
}

/** The largest |difference| between the sentence's own cells. @param {Square} alone @param {Square} padded */
export function largestDifference(alone, padded) {
  const shift = padded.real.start - alone.real.start;
  const [single, rows] = [rowsOf(alone), rowsOf(padded)];
  let largest = 0;
  for (let query = single.start; query < single.end; query++) {
    for (let key = alone.real.start; key < alone.real.end; key++) {
      const there = padded.data[(query - single.start + rows.start) * padded.size + key + shift];
      largest = Math.max(largest, Math.abs(there - alone.data[query * alone.size + key]));
    }
  }
  return largest;
}

/**
 * log softmax of a row of logits. The ids in `banned` are never sampled: −∞.
 * @param {ArrayLike<number>} logits @param {number[]} banned @returns {Float64Array}
 */
export function logSoftmax(logits, banned) {
  const out = Float64Array.from(logits);
  for (const id of banned) out[id] = -Infinity;
  const top = out.reduce((most, value) => Math.max(most, value), -Infinity);
  const sum = out.reduce((total, value) => total + Math.exp(value - top), 0);
  return out.map((value) => value - top - Math.log(sum));
}

/** KL(p‖q) in bits, over the whole vocabulary. @param {Float64Array} logP @param {Float64Array} logQ */
export function klBits(logP, logQ) {
  const nats = logP.reduce((sum, lp, id) => (lp === -Infinity ? sum : sum + Math.exp(lp) * (lp - logQ[id])), 0);
  return Math.max(0, nats / Math.LN2);
}

/** The largest |difference| between two distributions. @param {Float64Array} logP @param {Float64Array} logQ */
export function largestGap(logP, logQ) {
  return logP.reduce((most, lp, id) => Math.max(most, Math.abs(Math.exp(lp) - Math.exp(logQ[id]))), 0);
}
