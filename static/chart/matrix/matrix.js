/**
 * One labelled matrix: a picture, a readout below it, and the pointer and keys that choose a cell. The cells are a
 * canvas, with SVG for what is around and over them. It is drawn at once, without loading anything.
 */

import { h, hoverless, measured, newId, perRoot, svg, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { announce, heightsFor } from "../pictures.js";
import { drawNumbers } from "../table.js";
import { leastNumber, leastText, typeScale } from "../theme.js";
import { followKeys, followPen, followPointer, followZoom } from "./input.js";
import { isHead, isNote } from "./labels.js";
import { matrixSize, NOTE_SIZE, sizeAt, titledSize } from "./layout.js";
import { buildMap, showMap } from "./map.js";
import { showShapes } from "./nodes.js";
import { buttonsOf, makeTip, showCellTip, showReadout } from "./readout.js";
import { drawSheet } from "./sheet.js";
import { hasTwo, overlayShapes } from "./svg.js";
import { following, isInView, isWhole } from "./view.js";

/**
 * @import { Picture } from "../pictures.js"
 * @import { Room, Size } from "./layout.js"
 * @import { MatrixMap } from "./map.js"
 * @import { Scale } from "./scale.js"
 * @import { Cell, View } from "./view.js"
 */

/**
 * @typedef {Object} Axis
 * @property {string[]} labels  in full; the picture shortens and thins them
 * @property {string[]} [names]  what the picture calls them instead @property {string[]} [brief]  and a narrow one
 * @property {string} title
 * @property {"q"|"k"|"v"|""} role  whose colour it has
 * @property {boolean} [hidden]  a neighbour shows the same labels
 * @property {{index: number, role: string}} [also]  another label to light, for such a neighbour
 * @property {(index: number) => boolean} [faded]  labels that only fill a place
 *
 * @typedef {Object} Matrix
 * @property {string} id  `data-matrix`, and part of an export's file name
 * @property {string} label  a description for screen readers
 * @property {string} [title]  what a saved file calls it
 * @property {Float32Array|Uint8Array} values  row after row
 * @property {Float32Array} [tones]  what is coloured by `scale` instead of the values
 * @property {[number, number]} shape  rows, columns
 * @property {Uint8Array|null} forbidden  not 0: no colour there, the hatching shows
 * @property {string[]} [tints]  a colour over that hatching, by the value in `forbidden`
 * @property {Uint8Array|null} [dots]  how many small dots a cell has in its corner, row after row
 * @property {{text: string, ink: string}} [onHatching]  what is written there, if the numbers fit; default: nothing
 * @property {{text: string, ink: string, reason: number}} [note]  words over the hatching of cells with this reason, if they leave room
 * @property {boolean} [hatched]  also hatch under transparent colours; default: if cells are forbidden
 * @property {string} [ink]  of the numbers in the cells: by default what can be read on each
 * @property {{below: number, ink: string}} [faint]  another colour for numbers so near to 0
 * @property {Axis} rows
 * @property {Axis} cols
 * @property {Scale} scale
 * @property {(value: number, cell: {w: number, h: number}) => string} cellText  a value, for a small cell; "": none
 * @property {(row: number, col: number) => string[]} hover  one cell, in lines
 * @property {(row: number, col: number) => string} [tableText]  one cell of the table: by default its number
 * @property {(row: number, col: number) => (Node|string)[]} describe  one cell in a sentence
 * @property {{row: number, col: number, span: "cell"|"row", role: "q"|"k"|"v"}} chosen
 * @property {(row: number, col: number) => void} onChoose
 * @property {Pen|null} [pen]  a click and a drag are given to it instead of choosing and zooming
 * @property {(row: number, col: number) => void} [onOpen]  what a click or Enter does; default: a click chooses
 * @property {{row?: number, col?: number}} [lit]  a row, a column or (both) a cell in a frame, beside what is chosen
 * @property {[from: number, to: number]} [band]  columns in a dashed frame
 * @property {boolean} [square]  cells as wide as high
 * @property {boolean} [bare]  on the page, its axes have no titles: the labels say it
 * @property {boolean} [scrolls]  rather than have cells too small to be read
 * @property {boolean} [tall]  rows are as high as the window has room for
 * @property {boolean} [wide]  a cell may be wider than it is high: its number has room
 * @property {number|null} [highRow]  a row with room for two numbers in each cell, one below the other; null: none
 * @property {boolean} [reserves]  the room of one, below the picture, so that nothing moves when there is one
 * @property {boolean} [numbers]  in the cells, if they fit; default: in square ones
 * @property {boolean} [sums]  the sum of each row, on the margin
 * @property {{title: string, about?: string, text: (row: number) => string}} [margin]  something else on that margin; `about`: the tip of its title
 * @property {{row?: number, col?: number}} [edges]  a dashed line after this many rows, or columns
 * @property {Uint8Array} [outside]  not 0: beyond a window, whose edge is a dashed line
 * @property {Uint8Array|null} [freed]  not 0: allowed since a mask is off, whose old border is a line
 * @property {Uint8Array|null} [opened]  not 0: a dashed frame, because the reader has allowed it
 * @property {{row: number, col: number, text: string, ink: string, below: boolean}[]} [struck]  what stood in a cell before: in its
 *   hatching, or (`below`) below its number, or beside it
 * @property {string} [sign]  of a saved file: what is before it in a formula, "="
 * @property {string} [legend]  of a saved file: words instead of its colours
 * @property {string} [hatching]  of a saved file: what hatched cells are; default: forbidden
 * @property {string} [about]  of a saved file: what its numbers are, with their unit and what their sign means
 * @property {string} [corner]  of a saved table: what its rows and columns are
 * @property {string} filename
 *
 * @typedef {Object} Pen
 * @property {(cell: Cell) => void} over  it comes over a cell @property {() => void} end  it is lifted @property {() => void} cancel
 * @property {(line: {row: number}|{col: number}) => void} line  a whole row or column at once
 * @property {boolean} ready  not taken yet: a drag draws, and a click on the chosen cell; any other chooses
 *
 * @typedef {Object} Parts  of one matrix on the page
 * @property {HTMLElement} root @property {HTMLElement} frame @property {HTMLElement} plot @property {HTMLCanvasElement} sheet
 * @property {SVGSVGElement} overlay @property {HTMLElement} head  the names of the columns, in sight while the page scrolls
 * @property {ReturnType<typeof makeTip>} tip @property {HTMLElement} readout
 * @property {Matrix|null} matrix  the newest
 * @property {Matrix|null} drawn  null until it is first visible
 * @property {Size|null} size
 * @property {number[]} heights  that it may have
 * @property {View|null} view  a zoom; null: what is seen without one
 * @property {Cell|null} corner  of what is seen of a matrix that scrolls; null: it was not drawn yet
 * @property {MatrixMap|null} map  null: none of its matrices has scrolled
 * @property {string} cells  where they begin, and how wide they are
 * @property {Cell|null} hovered
 * @property {boolean} dragged  the pointer's last movement was not a click
 * @property {(view: View|null) => void} lookAt  shows a part of the matrix, or (null) what is seen without a zoom
 * @property {(view: View) => void} moveTo  shows as many other cells
 * @property {() => Size|null} fileSize  of the picture in a file: what scrolls is whole there, unless it is zoomed
 * @property {() => Picture|null} picture  what is saved; null: nothing is drawn yet
 */

/** The smallest number in the cells of a picture without titles, in pixels. */
const BARE = 11;

const matrixParts = perRoot((root) => build(/** @type {HTMLElement} */ (root)));

/** Draw `matrix` into `root`, or change what is there. @param {HTMLElement} root @param {Matrix} matrix */
export function drawMatrix(root, matrix) {
  const parts = matrixParts(root);
  parts.matrix = matrix;
  const label = `${matrix.label}. ${t(matrix.pen ? "matrix.keys_pen" : "matrix.keys")}`;
  parts.frame.classList.toggle("bare", matrix.bare === true);
  parts.frame.classList.toggle("drawn-on", matrix.pen?.ready === false);
  update(parts.frame, { "aria-label": label, dataset: { matrix: matrix.id } });
  showReadout(parts, null);
  paint(parts);
  drawNumbers(root, matrix);
  update(parts.frame, { "aria-busy": false });
}

/** The elements of one matrix, empty, and their listeners. @param {HTMLElement} root @returns {Parts} */
function build(root) {
  const id = newId("readout");
  const sheet = h("canvas", { class: "sheet", "aria-hidden": true });
  const overlay = svg("svg", { class: "overlay", "aria-hidden": true });
  const head = h("div", { class: "matrix-head", "aria-hidden": true }, svg("svg", { class: "overlay" }));
  const plot = h("div", { class: "matrix-plot" }, sheet, head, overlay);
  const tip = makeTip();
  const frame = h(
    "div",
    { class: "matrix", tabindex: 0, role: "application", "aria-describedby": id, dataset: { testid: "matrix" } },
    plot,
    Object.values(tip),
  );
  const readout = h("p", { class: "readout", id, "aria-live": "polite", dataset: { testid: "readout" } });
  root.append(frame, readout);
  /** @type {Parts} */
  const parts = {
    root,
    frame,
    plot,
    sheet,
    overlay,
    head,
    tip,
    readout,
    matrix: null,
    drawn: null,
    size: null,
    heights: [],
    view: null,
    corner: null,
    map: null,
    cells: "",
    hovered: null,
    dragged: false,
    lookAt: (view) => lookAt(parts, view),
    moveTo: (view) => moveTo(parts, view),
    fileSize: () => fileSize(parts),
    picture: () => pictureOf(parts),
  };
  frame.append(buttonsOf(parts));
  followKeys(parts);
  followPointer(parts);
  followPen(parts);
  followZoom(parts);
  announce(frame, parts.picture);
  const room = new ResizeObserver(() => parts.matrix && hasOtherRoom(parts) && paint(parts));
  room.observe(root);
  const panel = root.closest(".panel"); // text above the picture may appear later, and move it
  if (panel) room.observe(panel);
  const page = root.closest(".main"); // and so may what is above the panel
  if (page) room.observe(page);
  addEventListener("resize", () => parts.size && root.isConnected && paint(parts));
  return parts;
}

/** Whether its width or its possible heights have changed since it was drawn. @param {Parts} parts */
function hasOtherRoom({ plot, frame, size, drawn, heights }) {
  if (plot.clientWidth !== size?.width) return true;
  return (drawn?.square || drawn?.tall) === true && heightsFor(frame).join() !== heights.join();
}

/** @param {Parts} parts */
const paint = (parts) =>
  measured(
    () => roomFor(parts),
    (room) => paintIn(parts, room),
  );

/** @param {Parts} parts */
function roomFor({ matrix, plot, frame }) {
  const heights = matrix?.square || matrix?.tall ? heightsFor(frame) : [];
  const width = plot.clientWidth; // without the padding of its root
  return { width, heights, touch: hoverless(), type: typeScale(), dpr: devicePixelRatio };
}

/** @param {Parts} parts @param {ReturnType<typeof roomFor>} room */
function paintIn(parts, room) {
  const { matrix } = parts;
  if (!matrix || room.width === 0) {
    parts.size = null; // it is hidden: drawn when it has a width again
    return;
  }
  const { drawn, size } = parts;
  // Another room has other rows: what is chosen stays in sight, unless the reader has scrolled it away.
  const follow = !drawn || !size || isOther(drawn, matrix) || isInView(drawn.chosen, size.view);
  parts.view = viewOf(parts.view, parts.drawn, matrix);
  parts.drawn = matrix;
  parts.heights = room.heights;
  show(parts, matrix, sizeIn(matrix, { ...room, view: parts.view, corner: parts.corner, follow }));
}

/** @param {Matrix} matrix @param {Room} room @returns {Size} */
function sizeIn(matrix, room) {
  const least = matrix.bare ? Math.max(BARE, leastNumber() ?? 0) : leastNumber();
  const size = matrixSize(matrix, room);
  const noteWidth = matrix.bare && leastText() <= NOTE_SIZE ? size.noteWidth : 0; // not where all text is large
  return { ...size, least, noteWidth };
}

/** @param {Parts} parts @param {Matrix} matrix @param {Size} size */
function show(parts, matrix, size) {
  const { frame, plot, sheet, overlay, head } = parts;
  parts.size = size;
  if (!parts.view) parts.corner = { row: size.view.row, col: size.view.col };
  drawSheet(sheet, matrix, size);
  const { box } = size;
  update(sheet, { style: { left: `${box.x}px`, top: `${box.y}px`, width: `${box.w}px`, height: `${box.h}px` } });
  update(plot, { style: { height: `${size.height}px` } });
  if (size.map) parts.map ??= buildMap(parts);
  if (parts.map) showMap(parts.map, matrix, size);
  const shapes = overlayShapes(matrix, size);
  const named = /** @type {Element} */ (head.firstElementChild);
  update(head, { style: { height: `${box.y}px` } });
  showShapes(named, shapes.filter(isHead));
  frame.classList.toggle("noted", shapes.some(isNote)); // its legend does not repeat it
  frame.classList.toggle("two", hasTwo(matrix, size)); // and says what stands below a number where one does
  frame.classList.toggle("part", Boolean(size.map) || !isWhole(size.view, matrix.shape));
  const place = { "--cells": box.x, "--cells-top": box.y, "--cells-wide": box.w };
  const cells = Object.values(place).join();
  if (parts.cells !== cells)
    for (const [name, px] of Object.entries(place)) parts.root.style.setProperty(name, `${px}px`);
  parts.cells = cells;
  showShapes(
    overlay,
    shapes.filter((shape) => !isHead(shape)),
  );
  showCellTip(parts.tip, parts.hovered, parts); // at the cells' new places
}

/** @param {Parts} parts @param {View|null} view */
function lookAt(parts, view) {
  const { matrix, size } = parts;
  parts.view = view && matrix && (size?.map || !isWhole(view, matrix.shape)) ? view : null;
  if (!parts.view && size?.map && matrix)
    parts.corner = following({ ...size.view, ...parts.corner }, matrix.chosen, matrix.shape);
  paint(parts);
}

/** @param {Parts} parts @param {View} view */
function moveTo(parts, view) {
  const { matrix, size } = parts;
  if (!matrix || !size) return;
  if (parts.view) parts.view = view;
  show(parts, matrix, sizeAt(size, view));
}

/** @param {Parts} parts */
function fileSize(parts) {
  const { drawn, size, view } = parts;
  return drawn && size?.map && !view ? sizeIn(drawn, { ...roomFor(parts), view, whole: true }) : size;
}

/** What is saved of it. @param {Parts} parts @returns {Picture|null} */
function pictureOf({ drawn, fileSize, plot }) {
  const size = fileSize();
  return drawn && size && { kind: "matrix", content: drawn, size: titledSize(drawn, size), plot };
}

/** Whether what is seen has to follow: another cell is chosen, or another text shown. @param {Matrix} before @param {Matrix} matrix */
const isOther = ({ shape, chosen }, matrix) =>
  chosen.row !== matrix.chosen.row ||
  chosen.col !== matrix.chosen.col ||
  shape.some((count, i) => count !== matrix.shape[i]);

/** The zoom is kept for another head and follows the choice. Another text is shown without. @param {View|null} view @param {Matrix|null} before @param {Matrix} matrix */
function viewOf(view, before, { shape, chosen }) {
  if (!view || !before || before.shape.some((count, i) => count !== shape[i])) return null;
  const moved = before.chosen.row !== chosen.row || before.chosen.col !== chosen.col;
  return moved ? following(view, chosen, shape) : view;
}
