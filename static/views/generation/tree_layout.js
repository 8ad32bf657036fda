/** Where the nodes of a tree of texts stand: a column for each token, a row for each branch. Pure. */

import { indexOfMost } from "../../model/matrix.js";
import { allFrom, kidsOf, nodeAt, wayTo } from "../../state/text_tree.js";
import { pairOf } from "../../state/tree_changes.js";

/** @import { TextTree } from "../../state/text_tree.js" */

/**
 * @typedef {Object} Placed
 * @property {number} at  in the tree
 * @property {number} up  the node before it, as drawn; -1: it is the beginning
 * @property {number} column @property {number} row
 * @property {number|null} edited  the node at which another run begins, if its token is the first of that
 * @property {number} hidden  how many tokens are folded into it
 * @property {boolean} forks  whether several ways go on from it
 * @property {boolean} ends  whether nothing is drawn after it
 */

/** The tokens after a node; those of another run stand where that begins. @param {TextTree} tree @param {number} at @returns {{at: number, edited: number|null}[]} */
const waysFrom = (tree, at) =>
  kidsOf(tree)[at].flatMap(
    (kid) =>
      /** @type {{at: number, edited: number|null}[]} */ (
        nodeAt(tree, kid).how === "edited"
          ? waysFrom(tree, kid).map((one) => ({ at: one.at, edited: one.edited ?? kid }))
          : [{ at: kid, edited: null }]
      ),
  );

/** Every node that is drawn: the oldest way on keeps the row, the others follow below what belongs to it, so that no edges cross. @param {TextTree} tree @param {number[]} way  to the node that is shown, which nothing hides @returns {Placed[]} */
export function placedFrom(tree, way) {
  const open = new Set(way.slice(0, -1));
  const all = /** @type {Placed[]} */ ([]);
  let last = 0;
  /** @type {(Pick<Placed, "at"|"up"|"column"|"edited"> & {row: number|null})[]} row null: below all that are placed when its turn comes */
  const left = [{ at: way[0], up: -1, column: 0, row: 0, edited: null }];
  for (let one = left.pop(); one; one = left.pop()) {
    const ways = waysFrom(tree, one.at);
    const row = one.row ?? ++last;
    const folds = nodeAt(tree, one.at).folded === true && ways.length > 0 && !open.has(one.at);
    const tokens = folds ? allFrom(tree, one.at).filter((at) => nodeAt(tree, at).how !== "edited").length - 1 : 0;
    all.push({ ...one, row, hidden: tokens, forks: ways.length > 1, ends: folds || ways.length === 0 });
    if (folds) continue;
    const [up, column] = [one.at, one.column + 1];
    left.push(...ways.map((kid, i) => ({ ...kid, up, column, row: i === 0 ? row : null })).reverse());
  }
  return all;
}

/** Beside each token so many others that could have stood there, and from which share on. */
const [PER_TOKEN, LEAST_SHARE] = [2, 0.005];

/**
 * The ways that were not taken from the nodes of a text: where a row below is free, and no line would cross another.
 * @typedef {{up: number, column: number, row: number, from: number, id: number, p: number, instead: number}} Stub  `from`: the row of the node before it;
 *   `instead`: the id of the token that was taken
 * @param {TextTree} tree @param {Placed[]} all @param {Set<number>} way
 * @param {(at: number) => {id: number, before: number}[]} offered  after a node, the likeliest first @param {number} rows  how many there is room for
 * @returns {Stub[]}
 */
export function stubsOf(tree, all, way, offered, rows) {
  const taken = new Map(all.map((one) => [`${one.row} ${one.column}`, one.up]));
  const places = new Map(all.map((one) => [one.at, one]));
  const stubs = /** @type {Stub[]} */ ([]);
  for (const { at, up, column, edited } of all) {
    const before = places.get(up);
    if (!before || !way.has(at) || edited !== null) continue;
    const written = new Set(kidsOf(tree)[up].flatMap((kid) => nodeAt(tree, kid).ids));
    const others = offered(up).filter(({ id, before: p }) => p >= LEAST_SHARE && !written.has(id));
    let row = before.row + 1;
    for (const { id, before: p } of others.slice(0, PER_TOKEN)) {
      while (row < rows && taken.has(`${row} ${column}`) && taken.get(`${row} ${column}`) === up) row++;
      if (row >= rows || taken.has(`${row} ${column}`) || taken.has(`${row} ${column - 1}`)) break;
      stubs.push({ up, column, row, from: before.row, id, p, instead: nodeAt(tree, at).ids[0] });
      row++;
    }
  }
  return stubs;
}

/** A column at zoom 1, in pixels: at least, on a phone as wide as a finger needs or, made smaller, as a short word, and at most. */
const [NARROW, FINGER, WORD, WIDE] = [48, 44, 24, 150];
/** For so many columns there is room at a time, so that not every token that is written moves all others. */
const FITS = [4, 6, 9, 12, 16];

/** How wide a column is at least, where so many have this room. @param {number} columns @param {number} room  in pixels @param {number} zoom @param {boolean} [phone] */
export function columnWidth(columns, room, zoom, phone = false) {
  const fits = FITS.find((most) => columns <= most) ?? columns;
  const least = phone ? (zoom < 1 ? WORD : FINGER) : NARROW;
  return zoom * Math.min(WIDE, Math.max(least, room / fits / zoom));
}

/**
 * Where each column ends, in pixels: as wide as its widest label.
 * @param {Placed[]} all @param {(one: Placed) => number} widthOf @param {number} least
 */
export function columnEnds(all, widthOf, least) {
  const widths = /** @type {number[]} */ ([]);
  for (const one of all) widths[one.column] = Math.max(widths[one.column] ?? (one.column ? least : 0), widthOf(one));
  let end = 0;
  return widths.map((width) => (end += width));
}

/**
 * The node that an arrow key leads to: before or after it in its text, or in the branch above or below.
 * @param {TextTree} tree @param {Placed[]} all @param {number} at @param {string} key @returns {number|null}
 */
export function neighbour(tree, all, at, key) {
  const here = all.find((one) => one.at === at);
  if (!here) return null;
  if (key === "ArrowLeft") return here.up < 0 ? null : here.up;
  if (key === "Home") return all[0].at;
  if (key === "End") return all.findLast(({ row }) => row === here.row)?.at ?? null;
  if (key === "ArrowRight") {
    const after = all.filter(({ up }) => up === at);
    const shown = tree.tip < 0 ? [] : wayTo(tree, tree.tip);
    return (after.find((one) => shown.includes(one.at)) ?? after[0])?.at ?? null;
  }
  const step = /** @type {Record<string, number>} */ ({ ArrowUp: -1, ArrowDown: 1 })[key];
  const there = step ? all.filter(({ row }) => row === here.row + step) : [];
  const near = there.sort((a, b) => Math.abs(a.column - here.column) - Math.abs(b.column - here.column));
  return near[0]?.at ?? null;
}

/**
 * Where the way to a node forked last, and the end of the other text, the oldest of several; null: it never forked.
 * @param {TextTree} tree @param {number} at @returns {{at: number, other: number}|null}
 */
export function forkOf(tree, at) {
  const way = wayTo(tree, at);
  for (const up of way.slice(0, -1).reverse()) {
    const ways = waysFrom(tree, up).map((one) => one.at);
    const own = ways.find((one) => way.includes(one));
    const other = ways.find((one) => one !== own);
    if (own !== undefined && other !== undefined) return { at: own, other: branchEnd(tree, other) };
  }
  return null;
}

/** The last node that two texts share; -1: these are not two. @param {TextTree} tree @param {number[]} pair */
function splitOf(tree, pair) {
  const [a, b] = pair.map((at) => wayTo(tree, at));
  return (b && a.findLast((at) => b.includes(at))) ?? -1;
}

/**
 * What is brought into sight: of two texts that have been chosen, where they part; else the chosen token, when that is another one.
 * @typedef {{stand: number, split: number, at: number}} Aim
 * @param {Aim} aim @param {TextTree} tree @param {number} here @param {number} stand @returns {Aim}
 */
export function aimOf(aim, tree, here, stand) {
  const split = splitOf(tree, pairOf(tree, here));
  if (split >= 0 && split !== aim.split) return { stand, split, at: split };
  return { stand, split, at: stand !== aim.stand || split !== aim.split ? stand : aim.at };
}

/**
 * Where the part of a text begins that a phone shows first: the last token before which it forked, or that the reader chose; null: there is neither.
 * @param {TextTree} tree @param {number} at
 */
export function beginningOf(tree, at) {
  const [fork, choice] = [forkOf(tree, at)?.at ?? -1, lastChoice(tree, at)];
  const last = wayTo(tree, at).findLast((one) => one === fork || one === choice);
  return last ?? null;
}

/** The last token on the way to a node that the reader chose; -1: there is none. @param {TextTree} tree @param {number} at */
export const lastChoice = (tree, at) =>
  wayTo(tree, at).findLast((one) => ["taken", "typed"].includes(nodeAt(tree, one).how)) ?? -1;

/**
 * Whether a text can be compared with another one that is drawn: a text alone offers no choice of A that no B can follow.
 * @param {Placed[]} all @param {number[]} pair  what is chosen among them
 */
export const offersPair = (all, pair) => new Set([...pair, ...endsOf(all)]).size > 1;

/** The ends of all texts that are drawn. @param {Placed[]} all */
const endsOf = (all) => all.flatMap(({ at, up, ends }) => (ends && up >= 0 ? [at] : []));

/** After Back to a node, the end of the longest text there besides the one that was shown; null: there is none. @param {TextTree} tree @param {number} at @returns {number|null} */
export function otherEnd(tree, at) {
  const own = branchEnd(tree, at);
  if (own === at) return null; // nothing was left: Ten continuations go on from here
  const ends = allFrom(tree, at).filter((one) => one !== at && one !== own && waysFrom(tree, one).length === 0);
  return ends[indexOfMost(ends.map((one) => wayTo(tree, one).length))] ?? null;
}

/** The end of the branch that goes on from a node: of the shown one, or along the oldest way. @param {TextTree} tree @param {number} at */
export function branchEnd(tree, at) {
  if (tree.tip >= 0 && wayTo(tree, tree.tip).includes(at)) return tree.tip;
  let end = at;
  for (let ways = waysFrom(tree, end); ways.length > 0; ways = waysFrom(tree, end)) end = ways[0].at;
  return end;
}
