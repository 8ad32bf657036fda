/** The heads below the lines: which are shown, where each has its square, and the preview of one. No DOM. */

import { indexOfMost } from "../../model/matrix.js";
import { sideOf } from "../../model/sides.js";
import { isTranslation, rowName } from "../words/names.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Attention } from "../../model/description.js"
 * @import { Facts } from "../facts.js"
 * @import { Band, Frame, HeadsOf, Scene } from "./layout.js"
 * @import { Line } from "./lines.js"
 */

// One head's weights for a query, as lines in its layer and in numbers.

/** The width of all lines of a head's preview together, in pixels. */
const THICK = 26;
/** Weights below this have no line. */
const LEAST_WEIGHT = 0.01;

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
    if (share < LEAST_WEIGHT) return [];
    const y0 = keys.rows[keys.index[key]].y;
    const flags = { many: false, own: false, shown: true };
    return [{ attention, layer, from, to, query: row, key, ...flags, share, width, x0, y0, x1, y1 }];
  });
}

/** The query whose weights a head shows: the chosen token, or the one of its stack that is read most. @param {ModelTrace} trace @param {Facts} facts @param {Head} head */
function queryOf(trace, { rolled, row }, { attention: id }) {
  const attention = trace.attentions.find((one) => one.id === id);
  const at = rolled.findIndex(({ river }) => river.stack === attention?.stack);
  if (at === 0) return row;
  const top = rolled[at].at[rolled[at].river.layers];
  return indexOfMost(top);
}

/**
 * One head's weights for a query, as lines and in numbers; null where it has no picture, or one that is pooled and its row is not here.
 * @param {ModelTrace} trace @param {Facts} facts @param {Scene} scene @param {Head} head @param {number} [row]  the query
 */
export function previewOf(trace, facts, scene, head, row = queryOf(trace, facts, head)) {
  const most = mostOf(trace, facts, scene, head, row);
  if (!most) return null;
  const { from, to, weights, key, weight } = most;
  return {
    head,
    lines: linesOfHead(scene, head, { from, to, row, weights }),
    writes: to === 0 && scene.bands[0].side === "target",
    query: rowName({ ...facts, written: isTranslation(facts) }, row, to),
    key,
    weight,
  };
}

/**
 * What a head's query attends to most, and with which weight; null where the head has no picture, or its row is not here.
 * @param {ModelTrace} trace @param {Facts} facts @param {Pick<Scene, "bands">} scene @param {Head} head @param {number} [row]  the query
 */
export function mostOf(trace, facts, { bands }, head, row = queryOf(trace, facts, head)) {
  const attention = trace.attentions.find(({ id }) => id === head.attention);
  const weights = trace.row(head.layer, head.head, row, head.attention);
  const from = bands.findIndex(({ side }) => side === attention?.keys);
  const to = bands.findIndex(({ stack }) => stack === attention?.stack);
  if (!weights || from < 0 || to < 0) return null;
  const known = trace.exact(head.layer, head.head, row, head.attention);
  const at = (/** @type {number} */ key) => ({
    key: facts.names[from][key],
    weight: known ? { low: known[key], high: known[key] } : aroundByte(Math.round(weights[key] * 255)),
  });
  /** The keys with the largest weights, and these. @param {number} n */
  const ranked = (n) => {
    const all = Array.from(known ?? weights);
    const order = [...all.keys()].sort((a, b) => all[b] - all[a] || a - b);
    return order
      .slice(0, n)
      .filter((key, i) => i === 0 || all[key] >= LEAST_NAMED)
      .map(at);
  };
  return { from, to, weights, ...at(indexOfMost(known ?? weights)), ranked };
}

/** After the first key, a weight that is less is not named. */
const LEAST_NAMED = 0.05;

/** The weights that a byte of a picture, round(255 · w), may stand for. @param {number} byte */
const aroundByte = (byte) => ({ low: Math.max(0, byte - 0.5) / 255, high: Math.min(255, byte + 0.5) / 255 });

/**
 * @typedef {{attention: string, layer: number, head: number}} Head
 * @typedef {Head & {stack: string, x: number, y: number, width: number, height: number, caption: number, room: number, side: number, over: number, numbered: boolean, lines?: number}} Square
 *   `lines`: how many keys are named below it; `caption`, `room`: the height and width of what stands there; `side`: the width of what stands to its right, where its bar is; `numbered`: and its number, unless that stands over it, as high as `over`
 * @typedef {{x: number, y: number, n: number, layer: number}} More  how many heads of a layer have no square
 * @typedef {{x: number, y: number, width: number, height: number}} Area
 */

/** Wide enough to read with its number to the right; with its number over it, and its bar below: each is pointed at alone. */
const [READABLE, READABLE_UNDER] = [36, 25];
/** The space between two squares; between those with their bars. */
const [GAP, GAP_WITH_BARS] = [8, 6];
/** To the right of a square: its bar; with its number, the pixels of each digit and of what is around them. */
const [BAR_SIDE, DIGIT, BETWEEN_DIGITS] = [8, 7, 9];
/** The height of a number over its square, where there are a few; over all, each with its bar below it, as high as `BAR_BELOW`. */
const [LINE, NUMBER_OVER] = [14, 12];
export const BAR_BELOW = 5;
/** A square may be smaller by this factor for its number, unless that makes it too narrow. */
const FOR_NUMBER = 0.85;
/** A square wider than this shows no more; of an open layer, there is more room. */
const [LARGEST, LARGEST_OPEN] = [128, 150];
/** The height below the squares of an open layer, for the head's name and what it attends to most; and the least and the most width, compared to it. */
const [CAPTION, LEAST_WIDE, WIDE] = [38, 1.94, 2.4];
/** If not all heads fit, this many have a square. */
const FEW = 3;
/** The heads of a picture with very different sides are drawn less oblong than they are. */
const OBLONG = 2;

/** Height over width of a head's picture. @param {number} nQuery @param {number} nKey */
const ratioOf = (nQuery, nKey) => Math.min(OBLONG, Math.max(1 / OBLONG, nQuery / nKey));

/** @typedef {{count: number, ratio: number, caption: number, side: number, over: number, gap: number}} Of  what has a square, and what stands below each, to its right and over it, and between two */
/** @typedef {{count: number, ratio: number, caption?: number, bars?: boolean, number?: number, type?: number}} Looks
 *   `caption`: the height below each; `bars`: each has its bar; `number`: the width of a number to its right, which stands over that */

/** Squares over their bars, each under its number or, still lower, with the numbers at the left edge. @param {Looks} looks @returns {Of[]} */
const overBars = ({ count, ratio, type = 1 }) =>
  [Math.round(NUMBER_OVER * type), 0].map((over) => ({
    count,
    ratio,
    caption: BAR_BELOW,
    side: 0,
    over,
    gap: GAP_WITH_BARS,
  }));

/** The most rows of squares over their bars; without their numbers. */
const [MOST_ROWS, MOST_ROWS_BARE] = [4, 2];

/** Whether squares over their bars can be read, and one sees which head each is. @param {Grid} grid */
const isClear = ({ width, over, count, cols }) =>
  width >= READABLE_UNDER && Math.ceil(count / cols) <= (over ? MOST_ROWS : MOST_ROWS_BARE);

/** The squares of all heads in an area, each with its number to its right where that costs little, else over its bar where all can be read; null: they would be too small. @param {Area} area @param {Looks} looks */
function gridOfAll(area, looks) {
  const { count, ratio, caption = 0, bars = false, number = 0 } = looks;
  /** @param {number} side */
  const beside = (side) => gridOf(area, { count, ratio, caption, side, over: 0, gap: side ? GAP_WITH_BARS : GAP });
  const [plain, numbered] = [beside(bars ? BAR_SIDE : 0), beside(number)];
  const isWhole = (/** @type {Grid} */ { width }) => width >= READABLE || count <= FEW;
  const whole = number && isWhole(numbered) && numbered.width >= FOR_NUMBER * plain.width ? numbered : plain;
  if (isWhole(whole) && (!bars || heightOf(whole) <= area.height)) return whole;
  const lower = bars ? overBars(looks).map((of) => largest(area, of)) : [];
  return lower.find(isClear) ?? (isWhole(whole) ? whole : null);
}

/**
 * The squares of heads, as large as they fit into an area. If they would be too small to read, only the first few of `order`, and how many are left out.
 * @param {Area} area @param {Looks & {stack: string, attention: string, layer: number, order: number[]}} heads
 *   `order`: the most decisive first
 * @returns {{squares: Square[], more: More[]}}
 */
export function squaresOf(area, { stack, attention, layer, order, ...looks }) {
  const { count, ratio, caption = 0, bars = false, number = 0, type = 1 } = looks;
  const side = bars ? BAR_SIDE : 0;
  const few = { count: Math.min(FEW, count), ratio, caption, side, over: number && Math.round(LINE * type) };
  const less = { ...area, height: area.height - 16 };
  const grid = gridOfAll(area, looks) ?? gridOf(less, { ...few, gap: side ? GAP_WITH_BARS : GAP });
  const shown = order.slice(0, grid.count).sort((a, b) => a - b);
  const squares = shown.map((head, i) => ({
    stack,
    attention,
    layer,
    head,
    width: grid.width,
    height: grid.height,
    caption: grid.caption,
    room: grid.room,
    side: grid.side,
    over: grid.over,
    numbered: grid.over > 0 || grid.side > BAR_SIDE,
    x: area.x + grid.left + (i % grid.cols) * grid.across,
    y: area.y + grid.over + Math.floor(i / grid.cols) * grid.down,
  }));
  const bottom = Math.max(...squares.map(bottomOf));
  const n = count - shown.length;
  return { squares, more: n ? [{ x: area.x + area.width / 2, y: bottom + 15, n, layer }] : [] };
}

/** @param {Square} square */
export const bottomOf = ({ y, height, caption }) => y + height + caption;

/** A grid without a gap at its end may have squares that are smaller by this factor. */
const FULL = 1.15;

/**
 * The columns that make `count` squares largest below a short text: they stay while it grows, until a third of them would be
 * outside the area, or all fit much larger, or with names below them larger. Then those that make them largest here.
 * @param {Area} area @param {Of} of
 */
function gridOf(area, of) {
  const { cols } = largest({ ...area, height: MOST }, { ...of, ratio: 1 });
  const grid = gridWith(cols, area, of, READABLE);
  const [all, other] = [heightOf(grid), largest(area, of)];
  if (of.caption && other.width > 1.2 * grid.width) return other;
  if (grid.width >= READABLE && all <= area.height) return grid;
  return grid.width < READABLE || all > 1.5 * area.height || other.width > 1.5 * grid.width ? other : grid;
}

/** @typedef {ReturnType<typeof gridWith>} Grid */

/** @param {Grid} grid */
const heightOf = ({ count, cols, down, gap }) => Math.ceil(count / cols) * down - gap;

/** @param {Area} area @param {Of} of */
function largest(area, of) {
  const grids = Array.from({ length: of.count }, (_, i) => gridWith(i + 1, area, of));
  return grids.reduce((best, grid) => (grid.score >= best.score ? grid : best));
}

/** Squares with something to their right fill their column from its left edge; others stand in its middle. @param {number} cols @param {Area} area @param {Of} of @param {number} [least]  they are as wide where the area is too low */
function gridWith(cols, { width, height }, of, least = 4) {
  const { count, ratio, caption, side, over, gap } = of;
  const rows = Math.ceil(count / cols);
  const beside = (width - (cols - 1) * gap) / cols - side;
  const below = Math.max(least, ((height - (rows - 1) * gap) / rows - caption - over) / ratio);
  const wide = Math.max(4, Math.floor(Math.min(caption ? LARGEST_OPEN : LARGEST, beside, below) + 0.01));
  const high = Math.floor(wide * ratio);
  const room = Math.max(wide, Math.min(Math.floor(beside), caption * WIDE));
  const fits = room < caption * LEAST_WIDE ? 0.1 : 1; // what stands below a square wants its room
  const score = (count % cols ? wide : wide * FULL) * fits;
  const left = side ? 0 : (width - cols * (room + gap) + gap) / 2;
  const [across, down] = [side ? (width + gap) / cols : room + gap, high + caption + over + gap];
  return { ...of, cols, room, left, across, down, width: wide, height: high, score };
}

/** What stands around the squares of a layer. @param {number} layers @param {number} count @param {number} type */
const numberOf = (layers, count, type) =>
  Math.round((DIGIT * (String(layers - 1).length + String(count - 1).length) + BETWEEN_DIGITS) * type);

/**
 * The height of all heads: what is `wanted`, or as much less, in grids with more columns, as the rows need.
 * @param {{width: number, wanted: number, left: number, margin: number, layers: number, type: number}} picture  `width`: of a layer;
 *   `left`: the most that the rows leave them; `margin`: what stands around them
 * @param {HeadsOf} heads @param {(height: number) => boolean} suits  whether the rows have what they need
 */
export function heightOfHeads({ width, wanted, left, margin, layers, type }, { count, ratio }, suits) {
  const looks = { count, ratio, bars: true, number: numberOf(layers, count, type), type };
  const most = Math.min(wanted, left);
  const area = areaIn({ x0: 0, x1: width }, 0, most - margin);
  const full = Array.from({ length: count }, (_, i) => i + 1).filter((cols) => count % cols === 0);
  const grids = overBars(looks).flatMap((of) => full.map((cols) => gridWith(cols, { ...area, height: Infinity }, of)));
  const lower = grids.filter(isClear).map((grid) => heightOf(grid) + margin);
  const heights = lower.filter((height) => height < most).sort((a, b) => b - a);
  if (!heights.length || gridOfAll(area, looks)?.side) heights.unshift(wanted);
  return heights.find(suits) ?? heights[heights.length - 1];
}

/** The square at a point. @param {Square[]} squares @param {number} x @param {number} y */
export const squareAt = (squares, x, y) =>
  squares.find(
    (one) =>
      x >= one.x &&
      x <= one.x + one.width + (one.numbered && !one.over ? one.side : 0) &&
      y >= one.y - one.over &&
      y <= bottomOf(one),
  ) ?? null;

/** The space below the last head. */
const BELOW = 8;

/** @type {ReturnType<typeof squaresOf>} */
const NONE = { squares: [], more: [] };

/** Less height than this shows no head that can be read; more of it shows no more. */
const [LEAST, MOST] = [64, 300];

/**
 * The height of heads that begin at `y`: what the first screen leaves. If that is too little for the answering stack's
 * heads, which begin at `top`, all have the height that they need.
 * @param {number} y @param {number} top @param {Frame} frame
 */
function heightFrom(y, top, { headRoom = 0, fold = 0 }) {
  const left = Math.min(fold - y - BELOW, Math.max(headRoom, MOST));
  return fold - top - BELOW < LEAST ? Math.max(headRoom, left) : left;
}

/** @param {ReturnType<typeof squaresOf>} of */
const isReadable = ({ squares }) =>
  squares.every(({ width, caption }) => width >= (caption === BAR_BELOW ? READABLE_UNDER : READABLE));

/** Whether every head is drawn, large enough to be read. @param {ReturnType<typeof squaresOf>} of */
const isWhole = (of) => !of.more.length && isReadable(of);

/** @param {{x0: number, x1: number}} column @param {number} y @param {number} height @returns {Area} */
const areaIn = ({ x0, x1 }, y, height) => ({ x: x0 + 8, y, width: x1 - x0 - 12, height });

/**
 * The height of an open layer's heads in a picture: they have its whole width, so that the rows have what they leave.
 * @param {number} width @param {number} most @param {HeadsOf} heads @param {number} type
 */
export function heightOfOpen(width, most, { count, ratio }, type) {
  const caption = Math.round(CAPTION * type);
  const grid = gridOf(areaIn({ x0: 0, x1: width }, 0, most), { count, ratio, caption, side: 0, over: 0, gap: GAP });
  return Math.min(most, heightOf(grid) + GAP + BELOW);
}

/** From one key to the next below a square, and the most that are named. */
const [KEY_LINE, MOST_KEYS] = [16, 5];

/** Squares in one row name as many keys as the screen has room for. @param {Square[]} squares @param {Frame} frame @returns {Square[]} */
function withMoreKeys(squares, { fold = 0, type = 1 }) {
  if (!squares.length || squares.some(({ y }) => y !== squares[0].y)) return squares;
  const left = fold - BELOW - Math.max(...squares.map(bottomOf));
  const lines = Math.min(MOST_KEYS, 1 + Math.max(0, Math.floor(left / (KEY_LINE * type))));
  const more = (lines - 1) * KEY_LINE * type;
  return squares.map((one) => ({ ...one, lines, caption: one.caption + more }));
}

/** What of two stacks stands between the rows that are read first and their heads, where there is room: the key, Watch, how to read a square. */
const READ = 140;

/** Whether the heads of two stacks stand in one line; else those that are read first are right below their rows. @param {Band[]} bands @param {Frame} frame @param {number} top */
const areInLine = (bands, { only = null, open = null, type = 1 }, top) =>
  only === null && open === null && bands.slice(1).some(({ bottom }) => top - bottom >= READ * type);

/** The squares of all heads: below the rows of their stack, each layer's in its column, an open layer's at the whole width. @param {Band[]} bands @param {Frame} frame @param {number} top */
export function allSquaresOf(bands, frame, top) {
  const { heads = [], only = null, open = null, width, ranks = 0, type = 1 } = frame;
  const caption = Math.round(CAPTION * type);
  const headsInLine = areInLine(bands, frame, top);
  const parts = heads.flatMap(({ order, ...head }) => {
    const band = /** @type {Band} */ (bands.find(({ stack }) => stack === head.stack));
    const y = band === bands[0] || only !== null || headsInLine ? top : band.bottom + 14;
    const height = Math.min(heightFrom(y, top, frame), heightFrom(top, top, frame)); // of two stacks, the heads look alike
    if (only !== null) {
      const { layer } = only;
      const area = { x: 2, y: y + 16 + ranks, width: width - 4, height };
      return band.stack === only.stack ? [squaresOf(area, { ...head, layer, order: order(layer), caption })] : [];
    }
    /** @param {number} height */
    const within = (height) => {
      if (open && open.stack !== band.stack) return [NONE];
      const { layer = 0 } = open ?? {};
      const { x0 } = (band === bands[0] ? bands[bands.length - 1] : band).columns[0]; // nothing is to the left of the answering stack's
      const wide = { x0, x1: band.columns[band.columns.length - 1].x1 };
      if (open) {
        const of = squaresOf(areaIn(wide, y, height), { ...head, layer, order: order(layer), caption });
        return [{ ...of, squares: withMoreKeys(of.squares, frame) }];
      }
      const looks = { ...head, bars: true, number: numberOf(band.columns.length, head.count, type), type };
      return band.columns.map((column, layer) =>
        squaresOf(areaIn(column, y, height), { ...looks, layer, order: order(layer) }),
      );
    };
    const fitting = within(height);
    if (fitting.every(isWhole)) return fitting;
    const higher = within(Math.max(height, frame.headRoom ?? 0)); // below a long text they are scrolled to
    return higher.every(isWhole) || (higher.every(isReadable) && !fitting.every(isReadable)) ? higher : fitting;
  });
  const squares = parts.flatMap((one) => one.squares);
  return {
    squares: headsInLine ? inSameRows(squares) : squares,
    more: parts.flatMap(({ more }) => more),
    headsInLine,
  };
}

/** Where the heads of two stacks stand in one line, their second rows do, too, although one stack's squares are higher. @param {Square[]} squares @returns {Square[]} */
function inSameRows(squares) {
  const stacks = [...new Set(squares.map(({ stack }) => stack))];
  const tops = stacks.map((stack) => [...new Set(squares.filter((one) => one.stack === stack).map(({ y }) => y))]);
  if (tops.some((ys) => ys.length !== tops[0].length)) return squares;
  return squares.map((one) => {
    const row = tops[stacks.indexOf(one.stack)].indexOf(one.y);
    return { ...one, y: Math.max(...tops.map((ys) => ys[row])) };
  });
}

// Which heads the picture has, and which matter most.

/** The attentions of a stack that have pictures. @param {ModelTrace} trace @param {string} stack */
const pictured = ({ attentions }, stack) => attentions.filter((one) => one.stack === stack && one.overview !== null);

/** Between which attentions the reader can choose: the answering stack's, the last one first. @param {ModelTrace} trace @param {Facts} facts */
export const choicesOf = (trace, { rolled }) => pictured(trace, rolled[0].river.stack).reverse();

/**
 * One attention of each stack, the answering one's as chosen.
 * @param {ModelTrace} trace @param {Facts} facts @param {string|null} chosen @returns {HeadsOf[]}
 */
export function headsOf(trace, facts, chosen) {
  return facts.rolled.flatMap(({ river: { stack } }) => {
    const all = pictured(trace, stack);
    const attention = all.find(({ id }) => id === chosen) ?? all[all.length - 1];
    if (!attention) return [];
    const [nQuery, nKey] = [attention.queries, attention.keys].map((side) => sideOf(trace.sides, side).tokens.length);
    const { id, n_head: count } = attention;
    /** @param {number} layer */
    const order = (layer) => decisive(trace, facts, attention, layer);
    return [{ stack, attention: id, count, ratio: ratioOf(nQuery, nKey), order }];
  });
}

/** The heads, those first that attend to what matters most; in their own order where pictures are pooled, which do not show it. @param {ModelTrace} trace @param {Facts} facts @param {Attention} attention @param {number} layer */
function decisive(trace, facts, attention, layer) {
  if (trace.pool > 1) return Array.from({ length: attention.n_head }, (_, head) => head);
  const effects = [...(facts.measured?.effects.values() ?? [])].filter(
    (one) => one.attention === attention.id && one.layer === layer && one.head === undefined,
  );
  const scores = Array.from({ length: attention.n_head }, (_, head) => {
    const picture = trace.picture(layer, head, attention.id);
    return effects.reduce((sum, { query, key, delta }) => {
      const weight = picture ? picture.data[query * picture.n_key + key] / 255 : 0;
      return sum + Math.abs(delta) * weight;
    }, 0);
  });
  return [...scores.keys()].sort((a, b) => scores[b] - scores[a] || a - b);
}
