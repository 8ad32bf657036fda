/**
 * How much of every token reaches the chosen one: shares multiplied back through the layers, as in rollout (Abnar &
 * Zuidema 2020). No DOM.
 */

/**
 * @typedef {import("../data/river.js").River} River  @typedef {import("../data/river.js").Flow} Flow
 * @typedef {{flow: Flow, widths: Float64Array[]}} Widths  [layer][query key]: what of the chosen token goes through this edge
 * @typedef {Object} Reach  of one stack
 * @property {River} river
 * @property {Float64Array[]} at  [boundary 0 … layers][position]: at the answering stack's top it is 1 at the chosen row
 * @property {Widths[]} flows
 * @property {Float64Array[]|null} taken  [layer][position of another stack]: what each layer reads from that stack's top
 */

/**
 * Of every stack, the answering one first.
 * @param {River[]} rivers @param {string} answering  the id of the stack that answers @param {number} row  the chosen token
 * @returns {Reach[]}
 */
export function rollout(rivers, answering, row) {
  const own = rivers.find(({ stack }) => stack === answering) ?? rivers[rivers.length - 1];
  const top = new Float64Array(own.tokens);
  top[row] = 1;
  const first = down(own, top);
  const others = rivers.filter((river) => river !== own);
  return [first, ...others.map((river) => down(river, sumOf(first.taken ?? [], river.tokens)))];
}

/** From the top of one stack to its bottom. @param {River} river @param {Float64Array} top @returns {Reach} */
function down(river, top) {
  const { layers, side } = river;
  const at = [top];
  const flows = river.flows.map((flow) => ({ flow, widths: /** @type {Float64Array[]} */ ([]) }));
  /** @type {Float64Array[]} */
  const taken = [];
  for (let layer = layers - 1; layer >= 0; layer--) {
    let above = at[0];
    for (const { flow, widths } of [...flows].reverse()) {
      const { width, below, read } = through(flow, layer, above, flow.keys === side);
      widths.unshift(width);
      if (read) taken.unshift(read);
      above = below;
    }
    at.unshift(above);
  }
  return { river, at, flows, taken: taken.length ? taken : null };
}

/**
 * Through one attention. One that reads another stack leaves to the stream what is its own.
 * @param {Flow} flow @param {number} layer @param {Float64Array} above @param {boolean} inside  it reads its own stack
 */
function through({ share, own, nQuery, nKey }, layer, above, inside) {
  const width = new Float64Array(nQuery * nKey);
  const read = new Float64Array(nKey);
  for (let q = 0; q < nQuery; q++) {
    if (above[q] === 0) continue;
    const from = (layer * nQuery + q) * nKey;
    for (let k = 0; k < nKey; k++) {
      const part = above[q] * share[from + k];
      width[q * nKey + k] = part;
      read[k] += part;
    }
  }
  if (inside) return { width, below: read, read: null };
  return { width, below: above.map((part, q) => part * own[layer * nQuery + q]), read };
}

/** @param {Float64Array[]} parts @param {number} length */
function sumOf(parts, length) {
  const sum = new Float64Array(length);
  for (const part of parts) part.forEach((value, i) => (sum[i] += value));
  return sum;
}

/** The most that passes each position of a stack, at any boundary. @param {Reach} reach @returns {number[]} */
export const peaksOf = ({ at, river }) =>
  Array.from({ length: river.tokens }, (_, i) => Math.max(...at.map((boundary) => boundary[i])));
