/** The size of a matrix: its cells, its labels, and the margins they need, in CSS pixels. */

import { cutToWidth } from "../../model/labels.js";
import { typeScale, widthOf } from "../theme.js";
import { following, heightOfRows } from "./view.js";

/**
 * @import { Matrix } from "./matrix.js"
 * @import { Rect } from "./svg.js"
 * @import { Cell, View } from "./view.js"
 */

const LARGE = 64; // a cell is no larger than this,
const VERY_LARGE = 96; // or than this, with up to three tokens
const TALL = 34; // a row of a picture that takes the window's height is no higher
const [WIDE, HIGH] = [54, 40]; // a cell with room for its number is no larger
const MAX_HEIGHT = 780;
const BESIDES = 640; // a narrower picture may stand beside others, whose rows are as high
const READABLE = 13; // rather than have smaller cells, the picture scrolls
const TITLE = 22; // the height of an axis title; more with large type
const [FEW, LEAST, LOW] = [24, 19, 15]; // so few rows are at least so high; what scrolls instead may have lower ones
const [ACROSS, ACROSS_NARROW] = [26, 20]; // of what scrolls: in columns so wide there is room for a number
/** A row with room for two numbers, one below the other: so high, or so much higher than the others, up to the last; where the window is full, not lower than the least. */
const [HIGH_ROW, HIGHER, HIGHEST, LEAST_HIGH] = [34, 5, 36, 30];
const OVER = 6; // so far it may push down the line below the picture, before rows are lower than the least
export const NUMBERED = 26; // a cell so wide has room for a number that stood in it before
const [SEEN, DEEP] = [8, 1.5]; // the fewest rows that are seen, and the most for each column,
const [MAP, MAP_AWAY] = [64, 8]; // and with a map of the whole in the corner between the labels
export const NOTE_SIZE = 12.5; // of the words over the hatching
const NAMED = 44; // a column that is so wide has a horizontal label, cut if it must be
const BUTTONS = 30; // without hover the buttons are always visible and need a row
const TILT = 52; // degrees

/**
 * @typedef {Object} Size
 * @property {number} width @property {number} height  of the whole picture
 * @property {{x: number, y: number, w: number, h: number}} box  of the cells that are seen
 * @property {{w: number, h: number}} cell  as it is seen now, zoomed or not
 * @property {View} view
 * @property {{row: number, h: number}|null} [high]  a row that is higher than the others
 * @property {number} left  of the rows' title
 * @property {number} lift  how far above the rows their title begins
 * @property {string} rowTitle @property {string} colTitle  or the first of it, if there is no room
 * @property {number} top  of the columns' title
 * @property {number} font  of the labels
 * @property {number} type  how much larger than usual letters are
 * @property {number} [least]  the smallest number that a cell shows, in pixels
 * @property {number} angle  of the column labels, in degrees
 * @property {number} dpr  pixels of the screen for one of CSS
 * @property {Rect|null} map  of the whole, where it scrolls
 * @property {boolean} [margin]  there is room for the sums at the right
 * @property {number} [noteWidth]  of the note over the hatching
 * @property {string[]} rowText @property {string[]} colText  labels, cut to the room they have
 *
 * @typedef {Object} Room
 * @property {number} width  available
 * @property {number[]} [heights]  available for the picture: without scrolling, then with its panel at the top of the window
 * @property {View|null} view  the cells that are seen; null: all, or of a picture that scrolls, as many as there is room for
 * @property {Cell|null} [corner]  the first of these; null: the chosen cell is in their middle
 * @property {boolean} [follow]  they are moved to show the chosen cell
 * @property {boolean} [whole]  nothing scrolls: it is for a file
 * @property {number} type @property {number} dpr  as in Size
 * @property {boolean} touch  nothing can hover
 * @property {typeof widthOf} [wide]  how wide a text is
 */

/** @typedef {(text: string, font: number) => number} Wide */

/** @param {Matrix} matrix @param {Room} room @returns {Size} */
export function matrixSize(matrix, room) {
  const { width, heights = [], type, dpr, touch, wide: widthIn = widthOf } = room;
  const [rows, cols] = matrix.shape;
  const narrow = width < (matrix.square ? 480 : BESIDES);
  const font = (narrow ? 11.5 : 13) * type;
  const bare = matrix.bare === true;
  const wide = (/** @type {string} */ text, /** @type {number} */ size) => widthIn(text, size, faceOf(matrix));
  const titles = bare ? 0 : TITLE * type;
  const rowText = matrix.rows.hidden ? [] : cut(namesOf(matrix.rows, narrow), longest(narrow) * type, font, wide);
  const colText = cut(matrix.cols.names ?? matrix.cols.labels, longest(narrow) * type, font, wide);
  const named = matrix.rows.hidden ? 8 : roomBeside(rowText, { type, font, title: titles, wide });
  const margin = matrix.sums === true && !(narrow && bare); // on a phone the cells need the room
  const sums = margin ? (narrow ? 44 : 56) * type : 12;
  const head = widest(colText, font, wide);
  const lowest = { w: (width - named - sums) / cols, h: LOW };
  const isLow = !narrow && heights[0] < headHeight(head, lowest.w, font, bare) + LOW * rows + 13;
  const scrolls = matrix.scrolls === true && !room.whole && (Math.max(rows, cols) > FEW || isLow);
  const beside = Math.max(named, scrolls ? MAP + MAP_AWAY : 0);
  const top = touch && !bare ? BUTTONS : 0; // bare pictures have theirs below
  const above = (/** @type {Size["cell"]} */ cell) =>
    Math.round(
      top +
        titles +
        Math.max(headHeight(head, cell.w, font, bare), scrolls ? MAP : 0) +
        (bare && !scrolls && angleOf(head, cell.w, bare) !== -TILT ? 6 : 10), // the chosen name is bold: slanted it is higher, too
    );
  // The rows' title begins in the corner above them if it is longer than they are high; without room, it says the first of it.
  const { title = "" } = matrix.rows.hidden || bare ? {} : matrix.rows;
  const [least, most] = [title.split(/[:：]/)[0], title].map((one) => wide(one, 12 * type));
  const across = bare ? "" : matrix.cols.title;
  const corner = (/** @type {Size["cell"]} */ cell) => above(cell) - top - titles - 4;
  const fits = (/** @type {Size["cell"]} */ cell) => most <= cell.h * rows + corner(cell) + 10;
  const liftOf = (/** @type {Size["cell"]} */ cell) =>
    Math.max(0, Math.min((fits(cell) ? most : least) - cell.h * rows, corner(cell)));
  const heightOf = (/** @type {Size["cell"]} */ cell, shown = rows) =>
    Math.ceil(above(cell) + cell.h * shown + Math.max(bare ? 3 : 10, least - cell.h * rows - liftOf(cell)));
  // A row that is higher grows downwards, as far as there is room: where rows have a usual height, an edit moves no other.
  const more = (/** @type {Size["cell"]} */ cell, room = 0) =>
    (highOf({ highRow: matrix.highRow ?? (matrix.reserves ? 0 : null) }, cell, { type, dpr, room })?.h ?? cell.h) -
    cell.h;
  const { cell, shown } = scrolls
    ? scrolling(matrix, width - beside - sums, heights, {
        dpr,
        narrow,
        besides: (cell) => heightOf(cell, 0) + more(cell),
      })
    : {
        cell: fitting(
          heights,
          (cell) => heightOf(cell) + Math.max(0, more(cell) - (cell.h > LEAST * type ? 0 : OVER * type)),
          (most) => cellOf(matrix, [width - beside - sums, most], { narrow, dpr, head }),
          rows,
        ),
        shown: { rows, cols },
      };
  const spare = Math.floor(Math.max(0, width - beside - sums - cell.w * shown.cols) / 2);
  const x = Math.round(spare + beside);
  const y = above(cell);
  const view = room.view ?? viewAt(matrix, shown, room);
  const seen = seenCell(cell, matrix, shown, view, dpr);
  const own = heightOf(cell, shown.rows);
  const left = (heights.find((height) => own <= height) ?? Infinity) - own;
  const high = highOf(matrix, seen, { type, dpr, room: left });
  const flat = bare && !scrolls; // beside a map there is room for slanted labels
  return {
    width,
    height: own + more(cell, left),
    box: { x, y, w: seen.w * view.cols, h: heightOfRows({ cell: seen, view, high }) },
    cell: seen,
    view,
    high,
    left: x - beside,
    top,
    lift: liftOf(cell),
    rowTitle: fits(cell) ? title : title.split(/[:：]/)[0],
    colTitle: wide(across, 12 * type) <= width - x || bare ? across : `${across.split(/[:：]/)[0]} →`,
    font,
    type,
    dpr,
    map: scrolls ? mapAt(x, y, matrix.shape) : null,
    margin,
    noteWidth: matrix.note && widthIn(matrix.note.text, NOTE_SIZE * type, "--font"),
    rowText,
    colText: flat && seen.w >= NAMED ? cut(colText, seen.w - 4, font, wide) : colText,
    angle: angleOf(head, seen.w, flat),
  };
}

/** The row that is higher than the others, where its cells have room for numbers. @param {Pick<Matrix, "highRow">} matrix @param {Size["cell"]} cell @param {{type: number, dpr: number, room: number}} about  `room`: what is left below the picture @returns {Size["high"]} */
function highOf({ highRow = null }, { w, h }, { type, dpr, room }) {
  if (highRow === null || w < NUMBERED || h >= HIGHEST * type) return null;
  const best = Math.max(HIGH_ROW * type, Math.min(HIGHEST * type, h + HIGHER));
  return { row: highRow, h: whole(Math.max(LEAST_HIGH * type, h, Math.min(best, h + room)), dpr) };
}

/** The same with all rows alike, for what cannot have another. @param {Size} size @returns {Size} */
export function evenSize(size) {
  const { box, cell, view, height } = size;
  const h = cell.h * view.rows;
  return { ...size, high: null, box: { ...box, h }, height: height - (box.h - h) };
}

/** Other cells of the same matrix. @param {Size} size @param {View} view @returns {Size} */
export const sizeAt = (size, view) => ({ ...size, view, box: { ...size.box, h: heightOfRows({ ...size, view }) } });

/**
 * The cell of a matrix that scrolls, and how many of them are seen.
 * @param {Matrix} matrix @param {number} width  of the cells @param {number[]} heights @param {{dpr: number, narrow: boolean, besides: (cell: Size["cell"]) => number}} about
 *   `besides`: the height of what is around the cells
 */
function scrolling({ shape: [rows, cols] }, width, heights, { dpr, narrow, besides }) {
  const across = Math.min(cols, Math.max(1, Math.floor(width / (narrow ? ACROSS_NARROW : ACROSS))));
  const w = whole(Math.min(WIDE, width / across), dpr);
  const rest = heights.map((height) => height - besides({ w, h: LEAST }));
  const room =
    rest.find((height) => height >= SEEN * LEAST) ?? Math.max(SEEN * LEAST, rest[rest.length - 1] ?? MAX_HEIGHT);
  const down = Math.min(rows, Math.floor(room / LEAST), Math.max(SEEN, Math.ceil(across * DEEP)));
  return { cell: { w, h: whole(Math.min(HIGH, w, room / down), dpr) }, shown: { rows: down, cols: across } };
}

/** As many cells as are shown. @param {Matrix} matrix @param {{rows: number, cols: number}} shown @param {Room} room @returns {View} */
function viewAt({ shape, chosen }, { rows, cols }, { corner, follow = false }) {
  const { row, col } = corner ?? { row: chosen.row - Math.floor(rows / 2), col: chosen.col - Math.floor(cols / 2) };
  const at = {
    row: Math.max(0, Math.min(row, shape[0] - rows)),
    col: Math.max(0, Math.min(col, shape[1] - cols)),
    rows,
    cols,
  };
  return follow ? following(at, chosen, shape) : at;
}

/** The map's place: its corner is that of the cells. @param {number} x @param {number} y @param {[number, number]} shape @returns {Rect} */
function mapAt(x, y, [rows, cols]) {
  const [w, h] = [cols, rows].map((count) => Math.round((MAP * count) / Math.max(rows, cols)));
  return { x: x - MAP_AWAY - w, y: y - MAP_AWAY - h, w, h };
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

/**
 * The width of row labels and their title, on the left.
 * @param {string[]} labels  as they are shown @param {{type?: number, font?: number, title?: number, wide?: Wide}} [of]  `title`: 0 without one
 */
export function roomBeside(
  labels,
  { type = typeScale(), font = 13 * type, title = TITLE * type, wide = widthOf } = {},
) {
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
function cellOf({ shape: [rows, cols], square, wide, tall, bare, scrolls }, [room, high], { narrow, dpr, head }) {
  if (wide && rows > 3) {
    const widest = bare ? Math.min(VERY_LARGE, Math.max(WIDE, head + 8)) : WIDE;
    const w = whole(Math.min(widest, room / cols), dpr);
    const least = bare && rows <= FEW ? (scrolls && !narrow ? LOW : LEAST) : 0;
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
 * @param {Size["cell"]} cell @param {Matrix} matrix @param {{rows: number, cols: number}} shown  without a zoom @param {View} view @param {number} dpr
 */
function seenCell(cell, { square, wide }, shown, view, dpr) {
  const [w, h] = [(cell.w * shown.cols) / view.cols, (cell.h * shown.rows) / view.rows];
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
