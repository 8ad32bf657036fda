/**
 * How much of every token reaches the chosen one: shares multiplied back through the layers, as in rollout (Abnar &
 * Zuidema 2020). No DOM.
 */

/** @import { Flow, River } from "../data/wire.js" */

/**
 * @typedef {{flow: Flow, above: Float64Array[]}} Passing  [layer][query]: how much of the chosen token reaches each query. The edge to a key
 *   passes on the key's share of that: `widthsBetween`
 * @typedef {Object} Rollout  of one stack
 * @property {River} river
 * @property {Float64Array[]} at  [boundary 0 … layers][position]: at the answering stack's top it is 1 at the chosen row
 * @property {Passing[]} flows
 * @property {Float64Array[]|null} taken  [layer][position of another stack]: what each layer reads from that stack's top
 */

/**
 * Of every stack, the answering one first.
 * @param {River[]} rivers @param {string} answering  the id of the stack that answers @param {number} row  the chosen token
 * @returns {Rollout[]}
 */
export function rollout(rivers, answering, row) {
  const own = rivers.find(({ stack }) => stack === answering) ?? rivers[rivers.length - 1];
  const top = new Float64Array(own.tokens);
  top[row] = 1;
  const first = down(own, top);
  const others = rivers.filter((river) => river !== own);
  return [first, ...others.map((river) => down(river, sumOfParts(first.taken ?? [], river.tokens)))];
}

/** The same of rivers whose shares are still to come: only the chosen token is there. @type {typeof rollout} */
export function rolloutToCome(rivers, answering, row) {
  const own = rivers.find(({ stack }) => stack === answering);
  return [own, ...rivers.filter((river) => river !== own)].filter(isThere).map((river) => {
    const { layers, tokens, side } = river;
    const nothing = (/** @type {number} */ count, /** @type {number} */ n = tokens) =>
      Array.from({ length: count }, () => new Float64Array(n));
    const at = nothing(layers + 1);
    if (river === own) for (const boundary of at) boundary[row] = 1;
    const read = river.flows.find(({ keys }) => keys !== side);
    const flows = river.flows.map((flow) => ({ flow, above: nothing(layers) }));
    return { river, at, flows, taken: read ? nothing(layers, read.nKey) : null };
  });
}

/** @type {(river: River|undefined) => river is River} */
const isThere = (river) => river !== undefined;

/** From the top of one stack to its bottom. @param {River} river @param {Float64Array} top @returns {Rollout} */
function down(river, top) {
  const { layers, side } = river;
  const at = [top];
  const flows = river.flows.map((flow) => ({ flow, above: /** @type {Float64Array[]} */ ([]) }));
  /** @type {Float64Array[]} */
  const taken = [];
  for (let layer = layers - 1; layer >= 0; layer--) {
    let above = at[0];
    for (const { flow, above: passing } of [...flows].reverse()) {
      const { below, read } = through(flow, layer, above, flow.keys === side);
      passing.unshift(above);
      if (read) taken.unshift(read);
      above = below;
    }
    at.unshift(above);
  }
  return { river, at, flows, taken: taken.length ? taken : null };
}

/**
 * Where a query's shares are: those of keys 0 … length − 1.
 * @param {Pick<Flow, "nQuery"|"nKey"|"packed">} flow @param {number} layer @param {number} query
 */
export function rowOfShares({ nQuery, nKey, packed }, layer, query) {
  if (!packed) return { from: (layer * nQuery + query) * nKey, length: nKey };
  return { from: (layer * nQuery * (nQuery + 1) + query * (query + 1)) / 2, length: query + 1 };
}

/**
 * Passes shares down through one attention. If it reads another stack, the stream keeps its own part.
 * @param {Flow} flow @param {number} layer @param {Float64Array} above @param {boolean} inside  it reads its own stack
 */
function through(flow, layer, above, inside) {
  const { share, own, nQuery, nKey } = flow;
  const read = new Float64Array(nKey);
  for (let q = 0; q < nQuery; q++) {
    if (above[q] === 0) continue;
    const { from, length } = rowOfShares(flow, layer, q);
    for (let k = 0; k < length; k++) read[k] += above[q] * share[from + k];
  }
  if (inside) return { below: read, read: null };
  return { below: above.map((part, q) => part * own[layer * nQuery + q]), read };
}

/**
 * How much of the chosen token goes through each edge of a layer, summed by rows of tokens: [row of the query, row of the
 * key]. It is not kept by token, because that would be a number for every edge of the model.
 * @param {Passing} passing @param {number} layer @param {{index: number[], rows: {length: number}}} queries  `index`: of each token's row
 * @param {{index: number[], rows: {length: number}}} keys
 */
export function widthsBetween({ flow, above }, layer, queries, keys) {
  const sums = new Float64Array(queries.rows.length * keys.rows.length);
  const { share, nQuery } = flow;
  for (let q = 0; q < nQuery; q++) {
    const part = above[layer][q];
    if (part === 0) continue;
    const { from, length } = rowOfShares(flow, layer, q);
    const row = queries.index[q] * keys.rows.length;
    for (let k = 0; k < length; k++) sums[row + keys.index[k]] += part * share[from + k];
  }
  return sums;
}

/** @param {Float64Array[]} parts @param {number} length */
export function sumOfParts(parts, length) {
  const sum = new Float64Array(length);
  for (const part of parts) part.forEach((value, i) => (sum[i] += value));
  return sum;
}

/** The most that passes each position of a stack, at any boundary. @param {Rollout} rollout @returns {number[]} */
export const peaksOf = ({ at, river }) =>
  Array.from({ length: river.tokens }, (_, i) => Math.max(...at.map((boundary) => boundary[i])));
