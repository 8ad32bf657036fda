/**
 * The lines of one layer: a centre line and a width for each edge. At both ends lines are stacked, so that their widths
 * add up to the thickness of their row's river. No DOM.
 */

import { edgeKey } from "../../model/interventions.js";

/**
 * @import { Rollout } from "../../model/contribution_rollout.js"
 * @import { Edge } from "../../model/interventions.js"
 * @import { Row } from "./bands.js"
 * @import { Band, Scene } from "./layout.js"
 */

// Where the lines were that the reader has knocked out.

/**
 * Where the edges were that are knocked out, as wide as in the run without knockouts.
 * @param {Edge[]} knockouts @param {Scene} scene @param {Scene} before  the run without knockouts's @param {Rollout[]} rolled
 * @returns {Line[]}
 */
export function ghostsOf(knockouts, scene, before, rolled) {
  const flows = rolled.flatMap((rollout) => rollout.flows.map(({ flow }) => ({ flow, river: rollout.river })));
  return knockouts.flatMap((cut) => {
    const of = edgeKey({ ...cut, head: undefined });
    const [was, now] = [before, scene].map(({ lines }) => lines.find((line) => !line.many && edgeKey(line) === of));
    if (was && cut.head !== undefined) return [{ ...lostOf(was, now), ...cut }];
    if (was) return [{ ...was, shown: true }];
    // It brought nothing to the chosen token: a thin line between the middles of its rows.
    const found = flows.find(({ flow }) => flow.attention === cut.attention);
    const from = scene.bands.findIndex(({ side }) => side === found?.flow.keys);
    const to = scene.bands.findIndex(({ stack }) => stack === found?.river.stack);
    const column = scene.bands[to]?.columns[cut.layer];
    const [key, query] = [rowWith(scene.bands[from], cut.key), rowWith(scene.bands[to], cut.query)];
    if (!column || column.x0 === column.x1 || !key || !query) return [];
    const nothing = { own: false, many: false, shown: true, share: 0, width: 0 };
    return [{ ...cut, ...nothing, from, to, x0: column.x0, y0: key.y, x1: column.x1, y1: query.y }];
  });
}

/** Between what is left of a line and what it has lost, in pixels. */
const APART = 5;

/** What a line has lost in one head: next to what is left of it, and apart. @param {Line} was @param {Line} [now] @returns {Line & {head?: number}} */
function lostOf(was, now) {
  const left = now?.width ?? 0;
  const width = Math.max(0, was.width - left);
  const { y0, y1, ...line } = now ?? was;
  const [from, to] = [y0, y1].map((y) => y + (now ? left / 2 + Math.max(APART, width / 2) : 0));
  return { ...line, shown: true, width, y0: from, y1: to };
}

/** @param {Band|undefined} band @param {number} token @returns {Row|undefined} */
const rowWith = (band, token) => band?.rows[band.index[token]];

/**
 * @typedef {Object} Line
 * @property {string} attention @property {number} layer
 * @property {number} from @property {number} to  the bands of key and query: their places in the scene
 * @property {number} query @property {number} key  the first tokens of their rows
 * @property {boolean} many  one of its ends is a row of several tokens @property {number} [head]  in which alone it is knocked out
 * @property {boolean} own  a token's way to itself: its stream, and what it takes from itself
 * @property {boolean} shown  one of those that carry most of what this layer moves, or that matter most; the others are the wash
 * @property {boolean} [notable]  it changes the answer: it is dark
 * @property {number} share  how much of the chosen token goes through it
 * @property {number} width  in pixels @property {number} [change]  of its share, from −1 to 1, where the difference is shown @property {number} [was]  its width before
 * @property {number} x0 @property {number} y0 @property {number} x1 @property {number} y1  key's end on the left, query's on the right
 * @typedef {Object} End  the rows at one end
 * @property {number} band
 * @property {Row[]} rows
 * @property {number[]} index  of each token's row
 * @property {number} x
 * @property {number[]} offset  [row]: where the next line starts, from the top of the row's river; grows
 */

/** Together, the shown lines of a layer carry this much of what it moves. */
const SHOWN = 0.8;
/** A line thinner than this, in pixels, is left out; its space stays empty. */
const THINNEST = 0.04;

/** The rows at one side of a layer; lines are stacked around each row's middle. @param {{band: number, rows: Row[], index: number[]}} of @param {number} x @param {ArrayLike<number>} amounts  by token @param {number} fat @returns {End} */
export function endOf({ band, rows, index }, x, amounts, fat) {
  const offset = rows.map(({ from, to, y }) => {
    let sum = 0;
    for (let i = from; i < to; i++) sum += amounts[i];
    return y - (sum * fat) / 2;
  });
  return { band, rows, index, x, offset };
}

/**
 * The lines of one attention in one layer. `left` and `right` remember what is stacked already.
 * @param {{attention: string, layer: number, widths: Float64Array, same: boolean}} edges  `widths`: [row of the query, row of the key];
 *   `same`: keys and queries are one side
 * @param {End} left  of the keys @param {End} right  of the queries @param {number} fat  pixels of a share of 1
 * @returns {Line[]}
 */
export function linesOf({ attention, layer, widths, same }, left, right, fat) {
  const nLeft = left.rows.length;
  /** @type {Line[]} */
  const lines = [];
  for (let i = 0; i < widths.length; i++) {
    const [share, q, k] = [widths[i], Math.floor(i / nLeft), i % nLeft];
    if (share === 0) continue;
    const width = share * fat;
    const [y0, y1] = [left.offset[k] + width / 2, right.offset[q] + width / 2];
    left.offset[k] += width;
    right.offset[q] += width;
    if (width < THINNEST) continue;
    const [query, key] = [right.rows[q], left.rows[k]];
    const many = query.to - query.from > 1 || key.to - key.from > 1;
    const own = same && q === k;
    lines.push({
      attention,
      layer,
      from: left.band,
      to: right.band,
      query: query.from,
      key: key.from,
      many,
      own,
      shown: false,
      share,
      width,
      x0: left.x,
      y0,
      x1: right.x,
      y1,
    });
  }
  return lines;
}

/** Mark the widest lines of a layer, until they carry most of what it moves. @param {Line[]} lines */
export function markShown(lines) {
  const moved = lines.filter(({ own }) => !own).sort((a, b) => b.share - a.share);
  const all = moved.reduce((sum, { share }) => sum + share, 0);
  let got = 0;
  for (const line of moved) {
    line.shown = got < SHOWN * all;
    got += line.share;
  }
}

/** A line that changes the answer this much, up or down, is shown however thin it is. */
const NOTABLE = 0.02;

/** Also show the lines that change the answer notably. @param {Line[]} lines @param {Map<string, {delta: number}>} effects  by edge */
export function showNotable(lines, effects) {
  for (const line of lines) {
    if (line.own || line.many) continue;
    line.notable = Math.abs(effects.get(edgeKey(line))?.delta ?? 0) >= NOTABLE;
    line.shown ||= line.notable;
  }
}

/** Also show the widest of the lines that the sentence names. @param {Line[]} lines @param {Edge[]} edges  those that it offers to hide */
export function showNamed(lines, edges) {
  const keys = new Set(edges.map(edgeKey));
  const [widest] = lines
    .filter((line) => !line.own && !line.many && keys.has(edgeKey(line)))
    .sort((a, b) => b.width - a.width);
  if (widest) widest.shown = true;
}

/** A line whose share changes by less than this part of the largest change is not drawn one by one. */
const CHANGED = 0.05;

/**
 * The lines of a scene with how their shares have changed, in [−1, 1] of the largest change; those that are gone are where they were.
 * @param {{lines: Line[]}} scene @param {{lines: Line[]}} before
 */
export function markChanged(scene, before) {
  const known = new Map(before.lines.map((line) => [edgeKey(line), line]));
  const now = new Set(scene.lines.map(edgeKey));
  const gone = before.lines.filter((line) => !line.own && !now.has(edgeKey(line)));
  const changes = scene.lines.map((line) => line.share - (known.get(edgeKey(line))?.share ?? 0));
  const all = [...changes.filter((_, i) => !scene.lines[i].own), ...gone.map(({ share }) => -share)];
  const most = Math.max(...all.map(Math.abs), Number.MIN_VALUE);
  scene.lines.forEach((line, i) => {
    line.change = changes[i] / most;
    line.was = known.get(edgeKey(line))?.width ?? 0;
    line.shown = !line.own && Math.abs(line.change) >= CHANGED;
  });
  const lost = gone.filter(({ share }) => share >= CHANGED * most);
  const none = { shown: true, share: 0, width: 0 };
  scene.lines.push(...lost.map((line) => ({ ...line, ...none, change: -line.share / most, was: line.width })));
}

/** How far along a line `x` is, 0 to 1: its control points lie in the middle between both ends. @param {Line} line @param {number} x */
function alongOf({ x0, x1 }, x) {
  const part = Math.min(1, Math.max(0, (x - x0) / (x1 - x0)));
  let [low, high] = [0, 1];
  for (let i = 0; i < 24; i++) {
    const t = (low + high) / 2;
    // Bernstein form with both control points at 1/2.
    if (1.5 * t * (1 - t) + t ** 3 < part) low = t;
    else high = t;
  }
  return (low + high) / 2;
}

/** @param {Line} line @param {number} t  0 to 1 */
const heightOf = ({ y0, y1 }, t) => y0 + (y1 - y0) * (3 * t ** 2 - 2 * t ** 3);

/** How far around a line it is meant, in pixels: a thick one, also where a hair line lies under the pointer; one that is wide or dark enough to be seen among others; a hair line. */
const [REACH, REACH_SEEN, REACH_OF_HAIR] = [12, 8, 4];

/** The least width of a thick line; of one that is seen; and the least change, where the difference is shown. */
export const THICK = 3;
const [SEEN, SEEN_CHANGE] = [1.5, 0.3];

/** A finger is less exact: around a hair line, and one that is dashed and red. */
export const REACH_OF_FINGER = REACH_SEEN;

/** @param {Line} line @param {number} ofHair */
function reachOf({ width, was = 0, notable, change = 0 }, ofHair) {
  if (width >= THICK) return REACH;
  return Math.max(width, was) >= SEEN || notable || Math.abs(change) >= SEEN_CHANGE ? REACH_SEEN : ofHair;
}

/**
 * The shown line that is meant at a point: of several there, a thick one before a thin one.
 * @param {Line[]} lines  in the order in which they are drawn @param {number} x @param {number} y @param {number} [ofHair]  how far around a hair line it is
 */
export function lineAt(lines, x, y, ofHair = REACH_OF_HAIR) {
  let best = /** @type {{line: Line, far: number}|null} */ (null);
  for (const line of lines) {
    if (line.own || !line.shown || x < line.x0 || x > line.x1) continue;
    const t = alongOf(line, x);
    const slope = (6 * t * (1 - t) * (line.y1 - line.y0)) / ((line.x1 - line.x0) * (1.5 - 3 * t + 3 * t ** 2));
    const away = Math.abs(y - heightOf(line, t)) / Math.hypot(1, slope) - line.width / 2;
    const reach = reachOf(line, ofHair);
    const thick = reach === REACH;
    const far = away <= 0 && thick ? -2 * REACH : thick ? away - REACH : Math.max(0, away) - (reach - ofHair);
    if (away <= reach && far <= (best?.far ?? Infinity)) best = { line, far };
  }
  return best?.line ?? null;
}
