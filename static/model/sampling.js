/**
 * From logits to probabilities, like model/sampling.py: for a trace from a file, without a server.
 * float64, over the whole vocabulary; ties go to the lower id.
 */

/**
 * @param {Float32Array} logits
 * @param {{temperature: number, topK: number, topP: number, minP: number, penalty: number, forbidden?: number[]}} settings  `forbidden`: ids
 *   that are not written after these, with probability 0 only after the settings
 * @param {number[]} banned  ids that are never sampled: their probability is 0 throughout
 * @param {Iterable<number>} seen  ids of the text so far, which are penalised
 * @returns {{before: Float64Array, after: Float64Array, kept: boolean[], cut: number[], masses: number[], order: number[]}}
 *   `cut`: which filter dropped a token (1 + its index in FILTERS; 0: none); `masses`: what each dropped; `order`: ids, the most likely
 *   before the settings first
 */
export function distribution(logits, { temperature, penalty, forbidden = [], ...limits }, banned, seen) {
  const scores = Float64Array.from(logits);
  for (const id of banned) scores[id] = -Infinity;
  const before = softmax(scores);
  const order = ordered(before);
  for (const id of new Set(seen)) scores[id] = scores[id] > 0 ? scores[id] / penalty : scores[id] * penalty;
  const sumOf = (/** @type {Float64Array} */ p) => forbidden.reduce((sum, id) => sum + p[id], 0);
  const left = 1 - sumOf(temperedBy(temperature, scores));
  for (const id of forbidden) scores[id] = -Infinity;
  const tempered = temperedBy(temperature, scores);
  const cut = cutOf(tempered, ordered(tempered), limits);
  for (const id of forbidden) cut[id] = 1;
  const kept = cut.map((by, id) => by === 0 && tempered[id] > 0);
  const massOf = (/** @type {number} */ by) => tempered.reduce((sum, p, id) => (cut[id] === by ? sum + p : sum), 0);
  const masses = FILTERS.map((_, i) => (i === 0 ? 1 - left : left * massOf(i + 1)));
  const total = tempered.reduce((sum, p, id) => sum + (kept[id] ? p : 0), 0);
  const after = tempered.map((p, id) => (kept[id] ? p / total : 0));
  return {
    before,
    after,
    kept,
    cut,
    masses,
    order: order.filter((id) => before[id] > 0),
  };
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

/** softmax(scores / temperature); at 0 all on the largest. @param {number} temperature @param {Float64Array} scores */
const temperedBy = (temperature, scores) =>
  temperature === 0 ? oneHot(scores.length, ordered(scores)[0]) : softmax(scores.map((x) => x / temperature));

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

// The random number of a draw, as numpy makes it: a PCG64 (O'Neill 2014) that its SeedSequence has seeded.

const MASK_64 = (1n << 64n) - 1n;
const MASK_128 = (1n << 128n) - 1n;

/** Whole numbers as words of 32 bits, the lowest first. @param {number[]} numbers */
const wordsOf = (numbers) =>
  numbers.flatMap((one) => (one < 2 ** 32 ? [one] : [one % 2 ** 32, Math.floor(one / 2 ** 32)]));

/** A hash whose constant changes with every use. @param {number} constant @param {number} factor */
function hasher(constant, factor) {
  let now = constant;
  return (/** @type {number} */ value) => {
    const before = value ^ now;
    now = Math.imul(now, factor);
    const mixed = Math.imul(before, now);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  };
}

/** numpy's SeedSequence(numbers).generate_state(8): words of 32 bits. @param {number[]} numbers */
function seedWords(numbers) {
  const entropy = wordsOf(numbers);
  const hash = hasher(0x43b0d7e5, 0x931e8875);
  const mix = (/** @type {number} */ x, /** @type {number} */ y) => {
    const mixed = Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  };
  const pool = [0, 1, 2, 3].map((i) => hash(entropy[i] ?? 0));
  for (const from of pool.keys())
    for (const to of pool.keys()) if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
  for (const word of entropy.slice(4)) for (const to of pool.keys()) pool[to] = mix(pool[to], hash(word));
  const out = hasher(0x8b51f9dd, 0x58f38ded);
  return [...pool, ...pool].map(out);
}

/** The number in [0, 1) that picks the token at `index`: `uniform` of model/sampling.py. @param {number} seed @param {number} index */
export function uniform(seed, index) {
  const words = seedWords([seed, index]).map(BigInt);
  const [a, b, c, d] = [0, 2, 4, 6].map((i) => words[i] | (words[i + 1] << 32n));
  const increment = ((((c << 64n) | d) << 1n) | 1n) & MASK_128;
  const step = (/** @type {bigint} */ state) => (state * 0x2360ed051fc65da44385df649fccf645n + increment) & MASK_128;
  const state = step(step(increment + ((a << 64n) | b)));
  const [mixed, turn] = [(state >> 64n) ^ (state & MASK_64), state >> 122n];
  const turned = ((mixed >> turn) | (mixed << (64n - turn))) & MASK_64;
  return Number(turned >> 11n) / 2 ** 53;
}

/** In the order in which they are applied. */
export const FILTERS = /** @type {const} */ (["banned", "top_k", "top_p", "min_p"]);

/**
 * The k most likely stay; of these the smallest set whose probability reaches top_p of theirs; of these what has min_p of the most
 * likely.
 * @param {Float64Array} values @param {number[]} order @param {{topK: number, topP: number, minP: number}} limits
 * @returns {number[]} which filter drops a token; 0: none
 */
function cutOf(values, order, { topK, topP, minP }) {
  const cut = Array.from(values, (p) => 2 * Number(p > 0));
  const chosen = order.slice(0, topK || undefined).filter((id) => values[id] > 0);
  const mass = chosen.reduce((sum, id) => sum + values[id], 0);
  let before = 0;
  for (const id of chosen) {
    const reached = topP < 1 && before >= topP * mass;
    cut[id] = reached ? 3 : values[id] < minP * values[chosen[0]] ? 4 : 0;
    before += values[id];
  }
  return cut;
}
