/** Shapes as SVG elements: on the page, colours follow the theme; in a file, they are written out. */

import { svg } from "../../ui/dom.js";
import { xmlText } from "../../ui/save.js";
import { cssColour } from "../theme.js";
import { colouredBy, colourTable, paintCells } from "./sheet.js";
import { fileShape, finest, roomOf } from "./svg.js";

/**
 * @import { Size } from "./layout.js"
 * @import { Matrix } from "./matrix.js"
 * @import { Shape } from "./svg.js"
 * @import { Place } from "./view.js"
 */

// What the export menu needs to know of matrices that others draw: the walk's and the map of FFN units. Around their cells are
// at most the labels of their rows.

/**
 * Where the cells lie: at the right of `beside` pixels with the labels of the rows.
 * @param {Pick<Place, "box"|"cell"|"view"> & {dpr: number}} place  from the corner of the cells
 * @param {{beside?: number, rowText?: string[], type?: number}} [around] @returns {Size}
 */
export function framedSize({ box: { w, h }, cell, view, dpr }, { beside = 0, rowText = [], type = 1 } = {}) {
  const box = { x: beside, y: 0, w, h };
  const titles = { left: 0, lift: 0, rowTitle: "", colTitle: "", top: 0, colText: [], angle: 0, map: null };
  return { width: beside + w, height: h, box, cell, view, font: 12 * type, type, dpr, rowText, ...titles };
}

/**
 * The matrix for a file: no cell is chosen or has a number, unless `own` says so.
 * @param {Pick<Matrix, "id"|"title"|"label"|"values"|"shape"|"scale"|"hover"> & Partial<Matrix>} own
 * @param {{rows: string[], cols: string[], named?: boolean}} labels  `named`: the rows' are drawn @returns {Matrix}
 */
export const framedMatrix = (own, { rows, cols, named = false }) => ({
  forbidden: null,
  rows: { labels: rows, title: "", role: "q", hidden: !named },
  cols: { labels: cols, title: "", role: "", hidden: true },
  cellText: () => "",
  describe: () => [],
  chosen: { row: -1, col: -1, span: "cell", role: "q" },
  onChoose: () => {},
  filename: `chumoku-${own.id}`,
  ...own,
});

/** The shapes that each element shows. @type {WeakMap<Element, Map<string, SVGElement>>} */
const shown = new WeakMap();

/**
 * Shows shapes on the page. One that was shown before keeps its element, because a browser takes long to lay out text.
 * @param {Element} root @param {Shape[]} shapes
 */
export function showShapes(root, shapes) {
  const before = shown.get(root) ?? new Map();
  const pageNode = (/** @type {Shape} */ shape) => nodeOf(shape, (name) => `var(${name})`);
  const now = new Map(shapes.map((shape) => [JSON.stringify(shape), shape]));
  const nodes = new Map([...now].map(([key, shape]) => [key, before.get(key) ?? pageNode(shape)]));
  for (const [key, node] of before) if (!nodes.has(key)) node.remove();
  let next = root.firstChild;
  for (const node of nodes.values()) {
    if (node === next) next = next?.nextSibling ?? null;
    else root.insertBefore(node, next);
  }
  shown.set(root, nodes);
}

/**
 * A whole picture for a file. `id` is unique in that file.
 * @param {Matrix} matrix @param {Size} size @param {string} id
 * @returns {SVGElement}
 */
export function fileNode(matrix, size, id) {
  const image = () => imageOf(matrix, size);
  return nodeOf(fileShape(matrix, size, { id, image }), cssColour);
}

/** The picture alone as an SVG file. @param {Matrix} matrix @param {Size} size */
export function drawingOf(matrix, size) {
  const { width, height } = size;
  const attrs = { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` };
  const paper = svg("rect", { width, height, fill: cssColour("--panel") });
  const root = svg("svg", attrs, svg("title", null, xmlText(matrix.label)), paper, fileNode(matrix, size, "m"));
  return { svg: new XMLSerializer().serializeToString(root), width, height };
}

/** @param {Shape} shape @param {(name: string) => string} colourOf  of a custom property @returns {SVGElement} */
function nodeOf({ tag, attrs, children = [] }, colourOf) {
  const look = Object.entries(attrs).map(([name, value]) => [
    name,
    String(value).startsWith("--") ? colourOf(String(value)) : value,
  ]);
  const inside = children.map((child) => (typeof child === "string" ? xmlText(child) : nodeOf(child, colourOf)));
  return svg(tag, Object.fromEntries(look), inside);
}

/** The cells as a PNG with whole pixels for each cell, which stays sharp in programs that smooth images. @param {Matrix} matrix @param {Size} size */
function imageOf(matrix, { box, view, cell, dpr }) {
  const [one, sheet] = [document.createElement("canvas"), document.createElement("canvas")];
  paintCells(one, colouredBy(matrix), colourTable(matrix.scale), { view, room: roomOf({ box, dpr }) });
  const [wide, high] = [cell.w, cell.h].map((side) => Math.max(1, Math.ceil(finest(dpr) * side)));
  [sheet.width, sheet.height] = [one.width * wide, one.height * high];
  const pen = /** @type {CanvasRenderingContext2D} */ (sheet.getContext("2d"));
  pen.imageSmoothingEnabled = false;
  pen.drawImage(one, 0, 0, sheet.width, sheet.height);
  return sheet.toDataURL("image/png");
}
