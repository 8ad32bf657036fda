/** The heads below the lines: where each has its square. No DOM. */

/** @import { Band, Frame } from "./layout.js" */

/**
 * @typedef {{attention: string, layer: number, head: number}} Head
 * @typedef {Head & {x: number, y: number, width: number, height: number}} Square
 * @typedef {{x: number, y: number, n: number, layer: number}} More  how many heads of a layer have no square
 * @typedef {{x: number, y: number, width: number, height: number}} Area
 */

/** Wide enough to read: narrower, they are fewer and larger. */
const READABLE = 56;
/** Between two squares. */
const GAP = 8;
/** Wider than this, a square says no more. */
const LARGEST = 96;
/** Of more heads than fit, this many have a square. */
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

/** Below the last head. */
const BELOW = 8;

/** @type {ReturnType<typeof squaresOf>} */
const NONE = { squares: [], more: [] };

/** Less height than this shows no head that can be read. */
const LEAST = 64;

/**
 * The height of heads that begin at `y`: what the first screen leaves. If that is too little for the answering stack's,
 * which begin at `top`, all are as high as they want.
 * @param {number} y @param {number} top @param {Frame} frame
 */
function heightFrom(y, top, { headRoom = 0, fold = 0 }) {
  return fold - top - BELOW < LEAST ? headRoom : Math.min(fold - y - BELOW, headRoom);
}

/** The squares of all heads: below the rows of their stack, each layer's in its column. @param {Band[]} bands @param {Frame} frame @param {number} top */
export function allSquaresOf(bands, frame, top) {
  const { heads = [], only = null, open = null, width } = frame;
  const parts = heads.flatMap(({ stack, order, ...head }) => {
    const band = /** @type {Band} */ (bands.find((one) => one.stack === stack));
    const y = band === bands[0] || only !== null ? top : band.bottom + 14;
    const height = heightFrom(y, top, frame);
    if (only !== null) {
      const { layer } = only;
      const area = { x: 2, y: y + 16, width: width - 4, height };
      return band.stack === only.stack ? [squaresOf(area, { ...head, layer, order: order(layer) })] : [];
    }
    return band.columns.map(({ x0, x1 }, layer) =>
      open && !(open.stack === band.stack && open.layer === layer)
        ? NONE
        : squaresOf({ x: x0 + 10, y, width: x1 - x0 - 20, height }, { ...head, layer, order: order(layer) }),
    );
  });
  return { squares: parts.flatMap(({ squares }) => squares), more: parts.flatMap(({ more }) => more) };
}
