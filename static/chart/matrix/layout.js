/** The size of a matrix: its cells, its labels, and the margins they need, in CSS pixels. */

import { cutToWidth } from "../../model/labels.js";
import { typeScale, widthOf } from "../theme.js";

/**
 * @import { Matrix } from "./matrix.js"
 * @import { View } from "./view.js"
 */

const LARGE = 64; // a cell is no larger than this,
const VERY_LARGE = 96; // or than this, with up to three tokens
const TALL = 34; // a row of a picture that takes the window's height is no higher
const [WIDE, HIGH] = [54, 40]; // a cell with room for its number is no larger
const MAX_HEIGHT = 780;
const BESIDES = 640; // a narrower picture may stand beside others, whose rows are as high
const READABLE = 13; // rather than have smaller cells, the picture scrolls
const TITLE = 22; // the height of an axis title; more with large type
const [FEW, LEAST] = [24, 19]; // so few rows are at least so high, rather than all seen at once
const NAMED = 44; // a column that is so wide has a horizontal label, cut if it must be
const BUTTONS = 30; // without hover the buttons are always visible and need a row
const TILT = 52; // degrees

/**
 * @typedef {Object} Size
 * @property {number} width @property {number} height  of the whole picture
 * @property {{x: number, y: number, w: number, h: number}} box  of the cells that are seen
 * @property {{w: number, h: number}} cell  as it is seen now, zoomed or not
 * @property {View} view
 * @property {number} left  of the rows' title
 * @property {number} lift  how far above the rows their title begins
 * @property {string} rowTitle @property {string} colTitle  or the first of it, if there is no room
 * @property {number} top  of the columns' title
 * @property {number} font  of the labels
 * @property {number} type  how much larger than usual letters are
 * @property {number} [least]  the smallest number that a cell shows, in pixels
 * @property {number} angle  of the column labels, in degrees
 * @property {number} dpr  pixels of the screen for one of CSS
 * @property {string[]} rowText @property {string[]} colText  labels, cut to the room they have
 *
 * @typedef {Object} Room
 * @property {number} width  available
 * @property {number[]} [heights]  available for the picture: without scrolling, then with its panel at the top of the window
 * @property {View} view  the cells that are seen
 * @property {number} type @property {number} dpr  as in Size
 * @property {boolean} touch  nothing can hover
 * @property {typeof widthOf} [wide]  how wide a text is
 */

/** @typedef {(text: string, font: number) => number} Wide */

/** @param {Matrix} matrix @param {Room} room @returns {Size} */
export function matrixSize(matrix, { width, heights = [], view, type, dpr, touch, wide: widthIn = widthOf }) {
  const [rows, cols] = matrix.shape;
  const narrow = width < (matrix.square ? 480 : BESIDES);
  const font = (narrow ? 11.5 : 13) * type;
  const bare = matrix.bare === true;
  const wide = (/** @type {string} */ text, /** @type {number} */ size) => widthIn(text, size, faceOf(matrix));
  const titles = bare ? 0 : TITLE * type;
  const rowText = matrix.rows.hidden ? [] : cut(namesOf(matrix.rows, narrow), longest(narrow) * type, font, wide);
  const colText = cut(matrix.cols.names ?? matrix.cols.labels, longest(narrow) * type, font, wide);
  const beside = matrix.rows.hidden ? 8 : roomBeside(rowText, font, type, wide, titles);
  const sums = matrix.sums ? (narrow ? 44 : 56) * type : 12;
  const head = widest(colText, font, wide);
  const top = touch && !bare ? BUTTONS : 0; // bare pictures have theirs below
  const above = (/** @type {Size["cell"]} */ cell) =>
    Math.round(top + titles + headHeight(head, cell.w, font, bare) + 10);
  // The rows' title begins in the corner above them if it is longer than they are high; without room, it says the first of it.
  const { title = "" } = matrix.rows.hidden || bare ? {} : matrix.rows;
  const [least, most] = [title.split(/[:：]/)[0], title].map((one) => wide(one, 12 * type));
  const across = bare ? "" : matrix.cols.title;
  const corner = (/** @type {Size["cell"]} */ cell) => above(cell) - top - titles - 4;
  const fits = (/** @type {Size["cell"]} */ cell) => most <= cell.h * rows + corner(cell) + 10;
  const liftOf = (/** @type {Size["cell"]} */ cell) =>
    Math.max(0, Math.min((fits(cell) ? most : least) - cell.h * rows, corner(cell)));
  const heightOf = (/** @type {Size["cell"]} */ cell) =>
    Math.ceil(above(cell) + cell.h * rows + Math.max(bare ? 3 : 10, least - cell.h * rows - liftOf(cell)));
  const cell = fitting(
    heights,
    heightOf,
    (most) => cellOf(matrix, [width - beside - sums, most], { narrow, dpr, head }),
    rows,
  );
  const spare = Math.floor(Math.max(0, width - beside - sums - cell.w * cols) / 2);
  const x = Math.round(spare + beside);
  const y = above(cell);
  const seen = seenCell(cell, matrix, view, dpr);
  return {
    width,
    height: heightOf(cell),
    box: { x, y, w: seen.w * view.cols, h: seen.h * view.rows },
    cell: seen,
    view,
    left: x - beside,
    top,
    lift: liftOf(cell),
    rowTitle: fits(cell) ? title : title.split(/[:：]/)[0],
    colTitle: wide(across, 12 * type) <= width - x || bare ? across : `${across.split(/[:：]/)[0]} →`,
    font,
    type,
    dpr,
    rowText,
    colText: bare && seen.w >= NAMED ? cut(colText, seen.w - 4, font, wide) : colText,
    angle: angleOf(head, seen.w, bare),
  };
}

/** Labels as they are read are in the face of the text. @param {Matrix} matrix */
export const faceOf = ({ rows }) => (rows.names ? "--font" : "--mono");

/** The size of a bare picture in a file, which says what its rows and columns are. @param {Matrix} matrix @param {Size} size @returns {Size} */
export function titledSize({ bare, rows, cols }, size) {
  if (!bare) return size;
  const room = TITLE * size.type;
  const { box, width, height } = size;
  const [word] = rows.title.split(/[:：]/);
  const [whole, least] = [rows.title, word].map((one) => widthOf(one, 12 * size.type, "--font"));
  const below = height - box.y - box.h;
  return {
    ...size,
    width: width + room,
    height: room + box.y + box.h + Math.max(below, 10, least - box.h),
    box: { ...box, x: box.x + room, y: box.y + room },
    rowTitle: whole <= box.h + 10 ? rows.title : word,
    colTitle: cols.title,
  };
}

/** @param {Matrix["rows"]} rows @param {boolean} narrow */
const namesOf = ({ labels, names, brief }, narrow) => (narrow && brief) || (names ?? labels);

/** Room for a label: 144 pixels hold eleven Japanese characters. @param {boolean} narrow */
const longest = (narrow) => (narrow ? 64 : 144);

/** The width of row labels and their title, on the left. @param {string[]} labels as they are shown */
export function roomBeside(labels, font = 13 * typeScale(), type = typeScale(), wide = widthOf, title = TITLE * type) {
  return title + widest(cut(labels, longest(false) * type, font, wide), font, wide) + 14;
}

/**
 * The cell with which the picture fits the first height, or else, if that is not readable, the next.
 * @param {number[]} heights @param {(cell: {w: number, h: number}) => number} heightOf  the picture with such cells
 * @param {(most: number) => {w: number, h: number}} cellIn  the cell for cells that are so high together @param {number} rows
 */
function fitting(heights, heightOf, cellIn, rows) {
  const widest = cellIn(MAX_HEIGHT);
  for (const [i, height] of heights.entries()) {
    let cell = widest;
    // Smaller cells may need steeper labels, which leave less room.
    for (let again = 0; again < 3 && heightOf(cell) > height; again++)
      cell = cellIn(Math.max(rows, cell.h * rows - (heightOf(cell) - height)));
    if (cell.h >= Math.min(READABLE, widest.h) || i === heights.length - 1) return cell;
  }
  return widest;
}

/**
 * @param {Matrix} matrix @param {[width: number, height: number]} room
 * @param {{narrow: boolean, dpr: number, head: number}} about  head: the width of the widest column label
 */
function cellOf({ shape: [rows, cols], square, wide, tall, bare }, [room, high], { narrow, dpr, head }) {
  if (wide && rows > 3) {
    const widest = bare ? Math.min(VERY_LARGE, Math.max(WIDE, head + 8)) : WIDE;
    const w = whole(Math.min(widest, room / cols), dpr);
    const least = bare && rows <= FEW ? LEAST : 0;
    return { w, h: whole(Math.min(HIGH, w, Math.max(least, high / rows)), dpr) };
  }
  const most = rows <= 3 ? VERY_LARGE : LARGE;
  const w = whole(Math.min(most, room / cols, square ? high / rows : most), dpr);
  if (square) return { w, h: w };
  if (tall) return { w, h: whole(Math.min(TALL, high / rows), dpr) };
  return { w, h: whole(Math.min(narrow ? 18 : 24, MAX_HEIGHT / rows), dpr) };
}

/**
 * A zoomed view fills the space of the whole matrix with fewer, larger cells.
 * @param {Size["cell"]} cell @param {Matrix} matrix @param {View} view @param {number} dpr
 */
function seenCell(cell, { shape: [rows, cols], square, wide }, view, dpr) {
  const [w, h] = [(cell.w * cols) / view.cols, (cell.h * rows) / view.rows];
  if (wide) return { w: whole(w, dpr), h: whole(h, dpr) };
  const one = Math.min(w, h);
  return square ? { w: whole(one, dpr), h: whole(one, dpr) } : { w: whole(w, dpr), h: whole(h, dpr) };
}

/** Whole device pixels where that costs little, for sharp edges. @param {number} size @param {number} dpr */
function whole(size, dpr) {
  return size >= 8 ? Math.floor(size * dpr + 1e-6) / dpr : size;
}

/** Column labels are horizontal if they fit, otherwise slanted, otherwise vertical. @param {number} widestLabel @param {number} cellWidth @param {boolean} [bare]  cut rather than slanted, over wide cells */
function angleOf(widestLabel, cellWidth, bare = false) {
  if (widestLabel + (bare ? 4 : 8) <= cellWidth || (bare && cellWidth >= NAMED)) return 0;
  return cellWidth >= 16 ? -TILT : -90;
}

/** @param {number} widestLabel @param {number} cellWidth @param {number} font @param {boolean} bare */
function headHeight(widestLabel, cellWidth, font, bare) {
  const angle = angleOf(widestLabel, cellWidth, bare);
  if (angle === 0) return font + 4;
  const tilt = (-angle * Math.PI) / 180;
  return widestLabel * Math.sin(tilt) + font * Math.cos(tilt);
}

/** @param {string[]} labels @param {number} font @param {Wide} wide */
function widest(labels, font, wide) {
  return labels.reduce((most, label) => Math.max(most, wide(label, font)), 0);
}

/** Labels cut to `room` pixels with an ellipsis; the hover text has them in full. @param {string[]} labels @param {number} room @param {number} font @param {Wide} wide */
function cut(labels, room, font, wide) {
  return labels.map((label) => cutToWidth(label, room, (text) => wide(text, font)));
}
