/** How large a matrix is drawn: its cells, its labels, and the margins that these need. All in CSS pixels. */

import { cssColour } from "../colour.js";

const LARGE = 64; // a cell is no larger than this,
const VERY_LARGE = 96; // or than this, with up to three tokens
const MAX_HEIGHT = 780;
const TITLE = 22; // a line along an axis that says what it is; more of it where type is large
const BUTTONS = 26; // where nothing can hover they are always there, and need a line of their own
const ANGLE = (52 * Math.PI) / 180;

/**
 * @typedef {Object} Size
 * @property {number} width @property {number} height  of the whole picture
 * @property {{l: number, r: number, t: number, b: number}} margin
 * @property {{w: number, h: number}} cell  as it is seen now, zoomed or not
 * @property {import("./view.js").View} view
 * @property {number} leftOfCells  room for row labels and title
 * @property {number} buttons  room for the buttons above the title
 * @property {number} font  of the labels
 * @property {number} type  how much larger than usual letters are
 * @property {number} angle  of the column labels, in degrees
 * @property {string[]} rowText @property {string[]} colText  labels, cut to the room they have
 */

/**
 * @param {import("./heatmap.js").Matrix} matrix
 * @param {number} width  what there is
 * @param {import("./view.js").View} view  the cells that are seen
 * @returns {Size}
 */
export function measure(matrix, width, view) {
  const [rows, cols] = matrix.shape;
  const narrow = width < 480;
  const buttons = matchMedia("(hover: none)").matches ? BUTTONS : 0;
  const type = typeScale();
  const font = (narrow ? 11.5 : 13) * type;
  const rowText = matrix.rows.hidden ? [] : cut(matrix.rows.labels, longest(narrow) * type, font);
  const side = {
    l: matrix.rows.hidden ? 8 : roomBeside(rowText, font),
    r: matrix.sums ? (narrow ? 44 : 56) * type : 12,
  };
  const cell = cellOf(matrix, width - side.l - side.r, narrow);
  const colText = cut(matrix.cols.labels, longest(narrow) * type, font);
  const head = headOf(colText, cell.w, font);
  const spare = Math.max(0, width - side.l - side.r - cell.w * cols) / 2;
  // A title stands beside the rows, and may be longer than these are high.
  const below = matrix.rows.hidden ? 0 : widthOf(matrix.rows.title, 12 * type) - cell.h * rows;
  const top = buttons + TITLE * type + head.height + 10;
  const margin = { l: side.l + spare, r: side.r + spare, t: top, b: Math.max(10, below) };
  const height = top + cell.h * rows + margin.b;
  const seen = { w: (cell.w * cols) / (view.x[1] - view.x[0]), h: (cell.h * rows) / (view.y[0] - view.y[1]) };
  const place = { width, height, margin, buttons, leftOfCells: side.l };
  return { ...place, cell: seen, view, font, type, angle: head.angle, rowText, colText };
}

/** How much larger than usual letters are: css/tokens.css. */
export const typeScale = () => Number(cssColour("--type")) || 1;

const longest = (narrow) => (narrow ? 64 : 96);

/** What row labels and their title need on the left. @param {string[]} labels as they are shown */
export function roomBeside(labels, font = 13 * typeScale()) {
  const type = typeScale();
  return TITLE * type + widest(cut(labels, longest(false) * type, font), font) + 14;
}

function cellOf({ shape: [rows, cols], square }, room, narrow) {
  const most = rows <= 3 ? VERY_LARGE : LARGE;
  const w = whole(Math.min(most, room / cols, square ? MAX_HEIGHT / rows : most));
  if (square) return { w, h: w };
  return { w, h: whole(Math.min(narrow ? 18 : 24, MAX_HEIGHT / rows)) };
}

/** Whole pixels where that costs little: edges are then sharp. */
function whole(size) {
  return size >= 8 ? Math.floor(size) : size;
}

/** Column labels lie flat where they fit, else they lean, else they stand. */
function headOf(labels, cellWidth, font) {
  const width = widest(labels, font);
  if (width + 8 <= cellWidth) return { angle: 0, height: font + 4 };
  if (cellWidth >= 16) return { angle: -52, height: width * Math.sin(ANGLE) + font * Math.cos(ANGLE) };
  return { angle: -90, height: width };
}

let pen = null;
const widths = new Map();

/** How wide a label is. @param {string} text @param {number} font */
function widthOf(text, font) {
  const key = `${font} ${text}`;
  if (!widths.has(key)) {
    if (widths.size > 20_000) widths.clear();
    pen ??= document.createElement("canvas").getContext("2d");
    pen.font = `${font}px ${cssColour("--mono")}`;
    widths.set(key, pen.measureText(text).width);
  }
  return widths.get(key);
}

function widest(labels, font) {
  return labels.reduce((width, label) => Math.max(width, widthOf(label, font)), 0);
}

/** Labels cut to `room` pixels: the ellipsis says so, the hover has them in full. */
function cut(labels, room, font) {
  return labels.map((label) => {
    if (widthOf(label, font) <= room) return label;
    const characters = [...label];
    while (characters.length > 1 && widthOf(`${characters.join("")}…`, font) > room) characters.pop();
    return `${characters.join("")}…`;
  });
}
