/** One head as a small picture: a pixel for every (query, key). */

/**
 * Draw the weights into a canvas of n_key × n_query pixels. Forbidden cells stay transparent: the hatching behind the
 * canvas shows through, so they never look like a weight of 0.
 *
 * Where the canvas is shown with fewer pixels than it has cells, each cell takes the largest weight of those that fall
 * on its pixel: a head that looks at one token stays a line, however long the text.
 * @param {HTMLCanvasElement} canvas
 * @param {{data: Uint8Array, n_query: number, n_key: number}} pattern
 * @param {Uint8Array} mask  reasons, 0 = allowed
 * @param {Uint32Array} table  a colour for each of the 256 weights
 * @param {[number, number]} shown  width and height that the canvas has on the screen, in its pixels
 * @returns {boolean} whether there are more cells than pixels
 */
export function paintHead(canvas, pattern, mask, table, [width, height]) {
  const { n_query, n_key } = pattern;
  const pooled = width > 0 && (n_key > width || n_query > height);
  const data = pooled
    ? strongest(pattern, [Math.min(n_query, Math.floor(height)), Math.min(n_key, width)])
    : pattern.data;
  canvas.width = n_key;
  canvas.height = n_query;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(n_key, n_query);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < pixels.length; i++) pixels[i] = mask[i] ? 0 : table[data[i]];
  context.putImageData(image, 0, 0);
  return pooled;
}

/** Every cell with the largest weight of its block, of which there are so many down and across. */
function strongest({ data, n_query, n_key }, [down, across]) {
  const rowOf = blocksOf(n_query, down);
  const columnOf = blocksOf(n_key, across);
  const largest = new Uint8Array(down * across);
  for (let query = 0, i = 0; query < n_query; query++) {
    const row = rowOf[query] * across;
    for (let key = 0; key < n_key; key++, i++) {
      const block = row + columnOf[key];
      if (data[i] > largest[block]) largest[block] = data[i];
    }
  }
  const out = new Uint8Array(data.length);
  for (let query = 0, i = 0; query < n_query; query++) {
    const row = rowOf[query] * across;
    for (let key = 0; key < n_key; key++, i++) out[i] = largest[row + columnOf[key]];
  }
  return out;
}

function blocksOf(count, blocks) {
  return Uint16Array.from({ length: count }, (_, i) => Math.floor((i * blocks) / count));
}
