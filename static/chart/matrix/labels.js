/** What is written around the cells (labels, sums, titles, each as a shape of svg.js) and in them. No DOM. */

import { capOf, capsIn } from "../../model/labels.js";
import { number } from "../../ui/format.js";
import { inkOn, widthOf } from "../theme.js";
import { faceOf, NOTE_SIZE } from "./layout.js";
import { colourAt } from "./scale.js";
import { boxOf, middleOf } from "./view.js";

/**
 * @import { Size } from "./layout.js"
 * @import { Axis, Matrix } from "./matrix.js"
 * @import { Drawable } from "./sheet.js"
 * @import { Shape } from "./svg.js"
 * @import { Cell, Place, View } from "./view.js"
 */

// The numbers in the cells, if the cells are few and large enough.

/** Cells show their values if at most this many rows and columns are in view, or if the numbers can be read well. */
const [TALKATIVE, READABLE] = [20, 11];
const [SMALLEST, LARGEST] = [6.5, 13]; // pixels, the largest of usual type
/** The width of a digit of the page's monospaced face, for a size of 1. */
const DIGIT = 0.6;
/** The share of a cell's width that stays free around its number; where there are many, around short and long ones. */
const [MARGIN, SHORT_OF_MANY, LONG_OF_MANY] = [0.15, 0.2, 0.05];
/** The height of a number at most, as a share of its cell's. */
const HIGH = 0.8;

/** A cell this high has room for what stood in it before, below its number; a lower one for smaller ones. Pixels. */
const [ROOMY_CELL, HIGH_CELL, LOW_CELL] = [33.5, 29, 20.5];

/**
 * How far above and below the middle of a cell its number and what stood there before are, and their sizes; null: there is no room.
 * The new one is the larger.
 * @param {{h: number}} cell @param {number} type @param {number} [least]  in a lesson and on a projector, of the letters
 */
export function placesOfTwo({ h }, type, least = SMALLEST) {
  const floor = least > READABLE ? least : 0;
  const as = (/** @type {number[]} */ [y, size]) => ({ y: y * type, size: Math.max(floor, size * type) });
  if (h >= ROOMY_CELL * type) return { now: as([-7, 12.5]), before: as([8, 11]) };
  if (h >= HIGH_CELL * type) return { now: as([-6.5, 12.5]), before: as([7.5, 10.5]) };
  return h < LOW_CELL * type ? null : { now: as([-4.5, 11.5]), before: as([5.5, 9]) };
}

/** @typedef {{row: number, col: number, x: number, y: number, text: string, ink: string, size?: number}} CellNumber */
/** @typedef {{x: number, y: number, [attribute: string]: string|number|undefined}} Written  attributes of a text */

/**
 * Each in a colour that is readable on its cell.
 * @param {Drawable} matrix @param {Place & {type?: number, least?: number, map?: unknown}} size  `least`: a smaller number is left out; `map`: its cells are as large as numbers need
 * @returns {{size: number, numbers: CellNumber[]}}
 */
export function numbersOf(matrix, size) {
  const { view, cell, type = 1, least = SMALLEST, map } = size;
  const many = view.rows > TALKATIVE || view.cols > TALKATIVE;
  if (!(matrix.numbers ?? matrix.square) || (many && !map && least < READABLE)) return { size: 0, numbers: [] };
  const indexOf = (/** @type {Cell} */ { row, col }) => row * matrix.shape[1] + col;
  const below = new Set((matrix.struck ?? []).filter((one) => one.below).map(indexOf));
  const numbers = cellsIn(view)
    .map((one) => ({ ...one, at: indexOf(one) }))
    .filter(({ at }) => matrix.onHatching || !matrix.forbidden?.[at])
    .filter((one) => !many || isToldOfMany(matrix, one))
    .map(({ row, col, at }) => {
      const number = numberOf(matrix, size, { row, col }, at);
      const two = below.has(at) ? placesOfTwo(boxOf({ row, col }, size), type, least) : null;
      if (!two) return number;
      return { ...number, size: two.now.size, y: number.y + two.now.y };
    })
    .filter(({ text }) => text !== "");
  const longest = Math.max(3, ...numbers.map(({ text }) => text.length));
  const free = many ? (longest > 3 ? LONG_OF_MANY : SHORT_OF_MANY) : MARGIN;
  const font = Math.min(LARGEST * type, (cell.w * (1 - free)) / (longest * DIGIT), cell.h * HIGH);
  return font < least ? { size: 0, numbers: [] } : { size: font, numbers };
}

/** Among many numbers the faint ones are left out, so that the others are seen; the chosen row and column have all. @param {Drawable} matrix @param {Cell & {at: number}} cell */
const isToldOfMany = ({ faint, values, chosen }, { row, col, at }) =>
  !faint || Math.abs(values[at]) >= faint.below || row === chosen?.row || col === chosen?.col;

/** @param {Drawable} matrix @param {Place} size @param {Cell} cell @param {number} at @returns {CellNumber} */
function numberOf(matrix, size, cell, at) {
  const { forbidden, onHatching, faint, values, tones = values } = matrix;
  const place = { ...cell, ...middleOf(cell, size) };
  if (onHatching && forbidden?.[at]) return { ...place, ...onHatching };
  const isFaint = faint && Math.abs(values[at]) < faint.below;
  return {
    ...place,
    text: matrix.cellText(values[at], size.cell),
    ink: isFaint ? faint.ink : (matrix.ink ?? inkOn(colourAt(matrix.scale, tones[at]))),
  };
}

/** Each cell of a part of a matrix. @param {View} view @returns {Cell[]} */
export function cellsIn({ row, col, rows, cols }) {
  return Array.from({ length: rows * cols }, (_, i) => ({ row: row + Math.floor(i / cols), col: col + (i % cols) }));
}

/** The least distance, in pixels of usual type, between two labels. */
const ROOM = 13.9;
/** The distance between a label and the cells. */
const AWAY = 7;

/** @param {Matrix} matrix @param {Size} size @returns {Shape[]} */
export function labelShapes(matrix, size) {
  const { rows, cols, sums } = matrix;
  return [
    ...(cols.hidden ? [] : columnLabels(matrix, size)),
    ...(rows.hidden ? [] : rowLabels(matrix, size)),
    ...(sums && size.margin !== false ? sumLabels(matrix, size) : []),
    ...titles(matrix, size),
  ];
}

/** Whether a label belongs to the columns, or to the margin's: it stays in sight over the cells. @param {Shape} shape */
export const isHead = ({ attrs: { class: name, transform } }) =>
  /^col-(label|cap)$/.test(String(name)) || (String(name).startsWith("title") && transform === undefined);

/** @param {Matrix} matrix @param {Size} size */
function columnLabels(matrix, size) {
  const look = lookOf(matrix.cols, matrix.chosen.col);
  const { box, font, angle } = size;
  const flat = angle === 0;
  return labelPlaces("col", size, look.always).flatMap((col) => {
    const x =
      middleOf({ row: 0, col }, size).x + (flat ? 0 : font * 0.35 * Math.abs(Math.sin((angle * Math.PI) / 180)));
    const y = box.y - AWAY;
    const turn = flat ? { "text-anchor": "middle" } : { transform: `rotate(${angle} ${round(x)} ${round(y)})` };
    const face = { "font-family": faceOf(matrix), "font-size": font };
    const attrs = { class: "col-label", x, y, ...face, ...look.of(col), ...turn };
    // Slanted labels are nearer to each other than their columns.
    const near = flat
      ? size.cell.w / HIGH_CELL
      : (size.cell.w * Math.abs(Math.sin((angle * Math.PI) / 180))) / ROOM_OF_CAP;
    return labelText(size.colText[col], attrs, near >= 1 ? font : 0);
  });
}

/** @param {Matrix} matrix @param {Size} size */
function rowLabels(matrix, size) {
  const look = lookOf(matrix.rows, matrix.chosen.row);
  const { box, font, cell, type } = size;
  return labelPlaces("row", size, look.always).flatMap((row) => {
    const y = middleOf({ row, col: 0 }, size).y + font * 0.35;
    const place = { x: box.x - AWAY, y, "text-anchor": "end" };
    const face = { "font-family": faceOf(matrix), "font-size": font };
    const attrs = { class: "row-label", ...face, ...place, ...look.of(row) };
    return labelText(size.rowText[row], attrs, cell.h >= ROOM_OF_CAP * type ? font : 0);
  });
}

/** How labels look: the chosen one is highlighted, and so is `also`. @param {Axis} axis @param {number} chosen */
export function lookOf({ role, also, faded }, chosen) {
  const lit = new Map([[chosen, role ? `--${role}` : "--ink"]]);
  if (also && !lit.has(also.index)) lit.set(also.index, `--${also.role}`);
  const plain = (/** @type {number} */ index) => ({ fill: faded?.(index) ? "--ink-3" : "--ink" });
  const of = (/** @type {number} */ index) =>
    lit.has(index) ? { fill: lit.get(index), "font-weight": 700 } : plain(index);
  return { always: [...lit.keys()], of };
}

/** The sum of each row's float32 numbers, or whatever else is on the margin. @param {Matrix} matrix @param {Size} size */
function sumLabels({ values, shape: [, cols], margin, chosen }, size) {
  const sum = (/** @type {number} */ row) =>
    /** @type {Float32Array} */ (values.subarray(row * cols, (row + 1) * cols)).reduce(
      (total, value) => total + value,
      0,
    );
  const textOf = margin ? margin.text : (/** @type {number} */ row) => number(sum(row), 3);
  const { box, font } = size;
  return labelPlaces("row", size, [chosen.row]).map((row) => {
    const y = middleOf({ row, col: 0 }, size).y + font * 0.35;
    return text(textOf(row), {
      class: "sum-label",
      x: box.x + box.w + AWAY,
      y,
      "font-size": font - 1,
      fill: "--ink-3",
    });
  });
}

/** The titles of the axes in their colours, starting near their common corner. @param {Matrix} matrix @param {Size} size */
function titles({ rows, cols, sums, margin }, { box, top, left, lift, rowTitle, colTitle, type, margin: hasMargin }) {
  const size = 12 * type;
  /** @param {string} words @param {string} role @param {Written} place */
  const title = (words, role, place) =>
    text(words, {
      class: "title",
      "font-family": "--font",
      "font-size": size,
      fill: role ? `--${role}` : "--ink-2",
      ...place,
    });
  const [x, y] = [left + size, box.y - lift];
  const upright = { x, y, "text-anchor": "end", transform: `rotate(-90 ${round(x)} ${round(y)})` };
  return [
    ...(cols.hidden || colTitle === "" ? [] : [title(colTitle, cols.role, { x: box.x, y: top + 17 * type })]),
    ...(rows.hidden || rowTitle === "" ? [] : [title(rowTitle, rows.also ? "" : rows.role, upright)]),
    ...(sums && hasMargin !== false
      ? [tipped(title(margin?.title ?? "Σ", "", { x: box.x + box.w + AWAY, y: box.y - AWAY }), margin)]
      : []),
  ];
}

/** The plate of the note: its height, the room around its words, and how far it is from the last column. */
const PLATE = { h: 22, pad: 9, edge: 12 };

/** Whether a shape belongs to the note. @param {Shape} shape */
export const isNote = ({ attrs }) => attrs.class === "over-hatching";

/** What the hatching means, over it: near the upper right corner, off the frames of the chosen row and column, if there is room. @param {Matrix} matrix @param {Size} size @returns {Shape[]} */
export function noteShapes({ note, forbidden, chosen, shape: [, n] }, size) {
  const { cell, view, type, noteWidth = 0 } = size;
  if (!note || !forbidden || noteWidth === 0) return [];
  const [width, height] = [noteWidth + 2 * PLATE.pad * type, PLATE.h * type];
  const down = Math.ceil(height / cell.h);
  const across = Math.ceil((width + PLATE.edge) / cell.w);
  const ends = [view.col + view.cols, chosen.col].filter((end) => end - across >= view.col);
  const free = ends
    .flatMap((end) => [1, 0, 2].map((row) => ({ row: view.row + row, col: end - across, rows: down, cols: across })))
    .filter(({ row, rows }) => row + rows <= view.row + view.rows)
    .find((part) =>
      cellsIn(part).every(
        ({ row, col }) => forbidden[row * n + col] === note.reason && row !== chosen.row && col !== chosen.col,
      ),
    );
  if (!free) return [];
  const [from, to] = [boxOf(free, size), boxOf({ row: free.row + down - 1, col: free.col + across - 1 }, size)];
  const place = { x: to.x + to.w - PLATE.edge - width, y: (from.y + to.y + to.h - height) / 2 };
  const words = { x: place.x + width / 2, y: place.y + height / 2 + NOTE_SIZE * type * 0.35, "text-anchor": "middle" };
  return [
    { tag: "rect", attrs: { ...place, width, height, rx: 6, fill: "--panel" } },
    text(note.text, {
      class: "over-hatching",
      "font-family": "--font",
      "font-size": NOTE_SIZE * type,
      fill: note.ink,
      ...words,
    }),
  ];
}

/** The rows or columns with a label: all in `always`, and as many of the other visible ones as fit. @param {"row"|"col"} axis @param {Size} size @param {number[]} always */
export function labelPlaces(axis, { view, cell, type }, always) {
  const [from, count] = [view[axis], axis === "col" ? view.cols : view.rows];
  const step = Math.max(1, Math.ceil((ROOM * type) / (axis === "col" ? cell.w : cell.h)));
  const free = (/** @type {number} */ i) => i % step === 0 && always.every((one) => Math.abs(i - one) >= step);
  return Array.from({ length: count }, (_, i) => from + i).filter((i) => always.includes(i) || free(i));
}

/** A name in rows that are nearer stays in quotes: its key cap would touch those of its neighbours. Pixels of usual type. */
const ROOM_OF_CAP = 15;

/**
 * A label; of a punctuation mark with its key cap, as in the page's texts (ui/token_text.js): its quotes keep their room, unseen.
 * @param {string} words @param {Written} attrs @param {number} font  0: there is no room for a cap @returns {Shape[]}
 */
function labelText(words, attrs, font) {
  const shape = text(words, attrs);
  const parts = font > 0 ? capsIn(words) : [];
  // A full-width mark has the space of its box, and browsers make its brackets narrower than they are measured.
  if (!parts.some(capOf) || words.includes("「")) return [shape];
  const wide = (/** @type {string} */ one) =>
    widthOf(one, font, String(attrs["font-family"]), Number(attrs["font-weight"] ?? 400));
  /** Beside a mark, so much room, which its quotes take. @param {string} mark */
  const beside = (mark) => Math.max(font * 0.25, (font * 1.1 - wide(mark)) / 2);
  const spread = parts.map((part) => {
    const cap = capOf(part);
    return { part, cap, nth: cap ? wide(cap.nth) : 0, width: cap ? wide(cap.mark) + 2 * beside(cap.mark) : wide(part) };
  });
  const all = spread.reduce((sum, { width, nth }) => sum + width + nth, 0);
  const anchor = { end: 1, middle: 0.5 }[String(attrs["text-anchor"])] ?? 0;
  let left = attrs.x - all * anchor;
  const { transform } = attrs;
  const line = { fill: "none", stroke: attrs.fill, "stroke-opacity": 0.45, rx: 3, ...(transform && { transform }) };
  const [y, height] = [round(attrs.y - font * 0.84), round(font * 1.1)];
  const caps = /** @type {Shape[]} */ ([]);
  const children = spread.flatMap(({ part, cap, nth, width }) => {
    const x = left;
    left += width + nth;
    if (!cap) return [part];
    const name = String(attrs.class).replace("label", "cap");
    caps.push({ tag: "rect", attrs: { class: name, x: round(x), y, width: round(width), height, ...line } });
    const unseen = (/** @type {string} */ quote) => {
      const size = round((font * beside(cap.mark)) / wide(quote));
      return {
        tag: /** @type {const} */ ("tspan"),
        attrs: { visibility: "hidden", "font-size": size },
        children: [quote],
      };
    };
    return [unseen(cap.open), cap.mark, unseen(cap.close), cap.nth];
  });
  return [...caps, { ...shape, children }];
}

/** @param {string} words @param {Written} attrs @returns {Shape} */
function text(words, { x, y, ...attrs }) {
  return { tag: "text", attrs: { "font-family": "--mono", ...attrs, x: round(x), y: round(y) }, children: [words] };
}

/** With a tip. @param {Shape} shape @param {Matrix["margin"]} margin @returns {Shape} */
function tipped(shape, margin) {
  if (!margin?.about) return shape;
  const { tag, attrs, children = [] } = shape;
  const about = { tag: /** @type {const} */ ("title"), attrs: {}, children: [margin.about] };
  return { tag, attrs: { ...attrs, class: "title tipped" }, children: [...children, about] };
}

/** @param {number} value */
const round = (value) => Math.round(value * 100) / 100;
