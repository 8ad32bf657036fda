/**
 * From logits to probabilities, like model/sampling.py: for a trace from a file, without a server.
 * float64, over the whole vocabulary; ties go to the lower id.
 */

/**
 * @param {Float32Array} logits
 * @param {{temperature: number, topK: number, topP: number}} settings
 * @param {number[]} banned  ids that are never sampled: their probability is 0 throughout
 * @returns {{before: Float64Array, after: Float64Array, kept: boolean[], massCut: number, order: number[]}} `order`: ids,
 *   the most likely before the settings first
 */
export function distribution(logits, { temperature, topK, topP }, banned) {
  const scores = Float64Array.from(logits);
  for (const id of banned) scores[id] = -Infinity;
  const before = softmax(scores);
  const order = ordered(before);
  const tempered = temperature === 0 ? oneHot(scores.length, order[0]) : softmax(scores.map((x) => x / temperature));
  const kept = keptOf(tempered, ordered(tempered), { topK, topP });
  const total = tempered.reduce((sum, p, id) => sum + (kept[id] ? p : 0), 0);
  const after = tempered.map((p, id) => (kept[id] ? p / total : 0));
  return { before, after, kept, massCut: 1 - total, order: order.filter((id) => before[id] > 0) };
}

/** Σ −p log₂ p. @param {Float64Array} probabilities */
export function entropyBits(probabilities) {
  return probabilities.reduce((sum, p) => (p > 0 ? sum - p * Math.log2(p) : sum), 0);
}

/** @param {Float64Array} scores */
export function softmax(scores) {
  const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = scores.map((x) => Math.exp(x - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((x) => x / sum);
}

/** @param {number} length @param {number} id */
function oneHot(length, id) {
  const out = new Float64Array(length);
  out[id] = 1;
  return out;
}

/** The indices of the values, largest value first. @param {Float64Array} values */
function ordered(values) {
  return Array.from(values.keys()).sort((a, b) => values[b] - values[a]);
}

/**
 * The k most likely, and of these the smallest set whose probability reaches top_p of theirs.
 * @param {Float64Array} values @param {number[]} order @param {{topK: number, topP: number}} limits @returns {boolean[]}
 */
function keptOf(values, order, { topK, topP }) {
  const kept = new Array(values.length).fill(false);
  const chosen = order.slice(0, topK || undefined).filter((id) => values[id] > 0);
  const mass = chosen.reduce((sum, id) => sum + values[id], 0);
  let before = 0;
  for (const id of chosen) {
    if (topP < 1 && before >= topP * mass) break;
    kept[id] = true;
    before += values[id];
  }
  return kept;
}
