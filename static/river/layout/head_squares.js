/** The heads below the lines: where each has its square, and one head's weights as lines. No DOM. */

/**
 * @typedef {import("./layout.js").Scene} Scene  @typedef {import("./lines.js").Line} Line
 * @typedef {{attention: string, layer: number, head: number}} Head
 * @typedef {Head & {x: number, y: number, width: number, height: number}} Square
 * @typedef {{x: number, y: number, n: number, layer: number}} More  so many heads of a layer have no square
 * @typedef {{x: number, y: number, width: number, height: number}} Area
 */

/** Wide enough to read: narrower, they are fewer and larger. */
const READABLE = 56;
/** Between two squares. */
const GAP = 8;
/** Wider than this, a square says no more. */
const LARGEST = 96;
/** Of more heads than fit, so many have a square. */
const FEW = 3;
/** The heads of a picture with very different sides are drawn less oblong than they are. */
const OBLONG = 2;

/** Height over width of a head's picture. @param {number} nQuery @param {number} nKey */
export const ratioOf = (nQuery, nKey) => Math.min(OBLONG, Math.max(1 / OBLONG, nQuery / nKey));

/**
 * As large as they fit into an area. If they would be too small to read, only the first few of `order`, and how many are left out.
 * @param {Area} area @param {{attention: string, layer: number, count: number, ratio: number, order: number[]}} heads
 *   `order`: the most decisive first
 * @returns {{squares: Square[], more: More[]}}
 */
export function squaresOf(area, { attention, layer, count, ratio, order }) {
  const all = gridOf(area, count, ratio);
  const few = Math.min(FEW, count);
  const grid = all.width >= READABLE || count <= FEW ? all : gridOf({ ...area, height: area.height - 16 }, few, ratio);
  const shown = grid === all ? order.slice().sort((a, b) => a - b) : order.slice(0, few).sort((a, b) => a - b);
  const left = area.x + (area.width - grid.cols * (grid.width + GAP) + GAP) / 2;
  const squares = shown.map((head, i) => ({
    attention,
    layer,
    head,
    width: grid.width,
    height: grid.height,
    x: left + (i % grid.cols) * (grid.width + GAP),
    y: area.y + Math.floor(i / grid.cols) * (grid.height + GAP),
  }));
  const bottom = Math.max(...squares.map(({ y, height }) => y + height));
  const n = count - shown.length;
  return { squares, more: n ? [{ x: area.x + area.width / 2, y: bottom + 15, n, layer }] : [] };
}

/** The columns that make `count` squares largest. @param {Area} area @param {number} count @param {number} ratio */
function gridOf({ width, height }, count, ratio) {
  const grids = Array.from({ length: count }, (_, i) => {
    const cols = i + 1;
    const rows = Math.ceil(count / cols);
    const across = (width - (cols - 1) * GAP) / cols;
    const down = (height - (rows - 1) * GAP) / rows / ratio;
    const wide = Math.max(4, Math.floor(Math.min(LARGEST, across, down)));
    return { cols, width: wide, height: Math.floor(wide * ratio) };
  });
  return grids.reduce((best, grid) => (grid.width > best.width ? grid : best));
}

/** The square at a point. @param {Square[]} squares @param {number} x @param {number} y */
export const squareAt = (squares, x, y) =>
  squares.find((one) => x >= one.x && x <= one.x + one.width && y >= one.y && y <= one.y + one.height) ?? null;

/** Of a head's preview, in pixels: all its weight together. */
const THICK = 26;
/** Weights below this have no line. */
const LEAST = 0.01;

/**
 * The weights of one row of a head, as lines in its layer.
 * @param {Scene} scene @param {Head} head @param {{from: number, to: number, row: number, weights: ArrayLike<number>}} of  the bands of keys
 *   and queries, the query, its weights
 * @returns {Line[]}
 */
export function linesOfHead(scene, { attention, layer }, { from, to, row, weights }) {
  const [keys, queries] = [scene.bands[from], scene.bands[to]];
  const { x0, x1 } = queries.columns[layer];
  const right = queries.rows[queries.index[row]];
  let top = right.y - THICK / 2;
  return Array.from(weights).flatMap((share, key) => {
    const width = share * THICK;
    const y1 = top + width / 2;
    top += width;
    if (share < LEAST) return [];
    const y0 = keys.rows[keys.index[key]].y;
    const flags = { many: false, own: false, shown: true };
    return [{ attention, layer, from, to, query: row, key, ...flags, share, width, x0, y0, x1, y1 }];
  });
}
