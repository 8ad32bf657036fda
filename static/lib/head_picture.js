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
 * @param {number} shown  the width that the canvas has on the screen, in its pixels
 */
export function paintHead(canvas, pattern, mask, table, shown) {
  const { n_query, n_key } = pattern;
  const data = n_key > shown && shown > 0 ? strongest(pattern, shown) : pattern.data;
  canvas.width = n_key;
  canvas.height = n_query;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(n_key, n_query);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < pixels.length; i++) pixels[i] = mask[i] ? 0 : table[data[i]];
  context.putImageData(image, 0, 0);
}

/** Every cell with the largest weight of its block, of which there are `blocks` on each side. */
function strongest({ data, n_query, n_key }, blocks) {
  const blockOf = Array.from({ length: Math.max(n_query, n_key) }, (_, i) => Math.floor((i * blocks) / n_key));
  const largest = new Uint8Array(blocks * blocks);
  for (let query = 0, i = 0; query < n_query; query++) {
    const row = blockOf[query] * blocks;
    for (let key = 0; key < n_key; key++, i++) {
      const block = row + blockOf[key];
      if (data[i] > largest[block]) largest[block] = data[i];
    }
  }
  const out = new Uint8Array(data.length);
  for (let query = 0, i = 0; query < n_query; query++) {
    const row = blockOf[query] * blocks;
    for (let key = 0; key < n_key; key++, i++) out[i] = largest[row + blockOf[key]];
  }
  return out;
}
