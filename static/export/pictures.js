/** Pictures as SVG: those of the open station, each at its place on the page with its name and colours, and the overview of all heads. */

import { lookedAs } from "../chart/lines/figure.js";
import { fileNode } from "../chart/matrix/nodes.js";
import { paintHead } from "../chart/matrix/sheet.js";
import { isPooled } from "../chart/matrix/svg.js";
import { toImage } from "../chart/plotly.js";
import { cssColour, pixelTable } from "../chart/theme.js";
import { overviewOf } from "../model/description.js";
import { svg } from "../ui/dom.js";
import { attentionName } from "../ui/heads.js";
import { t } from "../ui/i18n.js";
import { xmlText } from "../ui/save.js";
import { fileLegend, fileScene, label, NARROW, textWidth } from "./scene.js";

/**
 * @import { Picture } from "../chart/pictures.js"
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Token } from "../model/labels.js"
 * @import { Caption } from "./scene.js"
 */

// All heads as one picture with their indices, and all tokens as one. Each cell has its own pixels; where the trace is pooled, the title says what a cell is.

// The tokens as a picture: text, id and bytes of each.

const ROW = 24;
const TOKEN_GAP = 26;
const COLUMNS = ["index", "text", "id", "bytes"];

/**
 * @param {Token[]} tokens
 * @param {string[]} labels
 * @param {Caption} caption
 */
export function tokenScene(tokens, labels, caption) {
  const rows = tokens.map(({ index, id, bytes, special }, i) => {
    return [String(index), labels[i], String(id), special ? "" : bytes.replace(/../g, "$& ").trim()];
  });
  const heads = COLUMNS.map((name) => t(`tokens.${name}`));
  const widths = heads.map((head, i) =>
    Math.max(textWidth(head, 12), ...rows.map((row) => textWidth(row[i], 13, "--mono"))),
  );
  const starts = widths.map((_, i) => widths.slice(0, i).reduce((sum, width) => sum + width + TOKEN_GAP, 0));
  const width = starts[3] + widths[3];
  const line = (/** @type {number} */ y) => svg("path", { d: `M0 ${y}H${width}`, stroke: cssColour("--line") });
  const nodes = [
    heads.map((head, i) => label(head, { x: starts[i], y: 16, colour: "--ink-2" })),
    rows.map((row, y) => [
      line((y + 1) * ROW),
      row.map((text, i) => label(text, { x: starts[i], y: (y + 1) * ROW + 17, size: 13, face: "--mono" })),
    ]),
  ];
  return fileScene(caption, { width, height: (rows.length + 1) * ROW, nodes: nodes.flat(3) });
}

const GAP = 8;
const SIDE = 96;
const INDEX = 22;
const NAME = 34; // above a group, if there are several

/**
 * @typedef {{id: string, name: string|null, layers: number, heads: number, top: number, pixels: number, w: number, h:
 * number, width: number, height: number}} Group
 */

/**
 * @param {ModelTrace} trace
 * @param {Caption} caption
 */
export function overviewScene(trace, caption) {
  const groups = groupsOf(trace);
  const width = Math.max(...groups.map((group) => group.width));
  const height = groups.reduce((sum, group) => sum + group.height, 0);
  return fileScene(caption, {
    width,
    height,
    nodes: [hatching(), groups.map((group) => nodesOf(trace, group))].flat(3),
  });
}

/** The place of each attention, one below the other. @param {ModelTrace} trace @returns {Group[]} */
function groupsOf({ attentions, model, picture }) {
  let below = 0;
  return attentions.filter(overviewOf).map(({ id, n_layer, n_head }) => {
    const { n_query, n_key } = /** @type {NonNullable<ReturnType<ModelTrace["picture"]>>} */ (picture(0, 0, id));
    const pixels = Math.max(1, Math.round(SIDE / Math.max(n_query, n_key))); // whole pixels per cell: always sharp
    const name = attentionName(model, id);
    const [w, h, top] = [pixels * n_key, pixels * n_query, below + (name ? NAME : 0)];
    const size = {
      width: INDEX + n_head * (w + GAP) - GAP,
      height: (name ? NAME : 0) + INDEX + n_layer * (h + GAP) - GAP,
    };
    below += size.height;
    return { id, name, layers: n_layer, heads: n_head, top, pixels, w, h, ...size };
  });
}

/** @param {ModelTrace} trace @param {Group} group */
function nodesOf(trace, { id, name, layers, heads, top, pixels, w, h, width }) {
  const look = { size: 12, colour: "--ink-2", anchor: "middle" };
  /** @param {number} count @param {(i: number) => {x: number, y: number}} place */
  const numbers = (count, place) => Array.from({ length: count }, (_, i) => label(String(i), { ...look, ...place(i) }));
  const left = (/** @type {number} */ i) => INDEX + i * (w + GAP);
  const first = (/** @type {number} */ i) => top + INDEX + i * (h + GAP);
  const size = { width: width - INDEX, height: layers * (h + GAP) - GAP };
  const tile = (/** @type {number} */ i) => [left(i % heads), first(Math.floor(i / heads))];
  const tiles = Array.from({ length: layers * heads }, (_, i) => tile(i)).map(([x, y]) =>
    svg("rect", { x, y, width: w, height: h, fill: "url(#hatch)", stroke: cssColour("--line") }),
  );
  return [
    name ? label(name, { x: 0, y: top - 8, size: 13, weight: 600 }) : [],
    tiles,
    svg("image", {
      x: INDEX,
      y: top + INDEX,
      ...size,
      href: paintAll(trace, id, { layers, heads, pixels, w, h, ...size }),
    }),
    numbers(heads, (i) => ({ x: left(i) + w / 2, y: top + INDEX - 7 })),
    numbers(layers, (i) => ({ x: INDEX / 2 - 3, y: first(i) + h / 2 + 4 })),
  ];
}

/**
 * One canvas with all heads of an attention; forbidden cells are transparent.
 * @param {ModelTrace} trace @param {string} id @param {Omit<Group, "id"|"name"|"top">} group
 * @returns {string} a PNG as a data URL
 */
function paintAll(trace, id, { layers, heads, pixels, w, h, width, height }) {
  const [sheet, one] = [document.createElement("canvas"), document.createElement("canvas")];
  Object.assign(sheet, { width, height });
  const context = /** @type {CanvasRenderingContext2D} */ (sheet.getContext("2d"));
  context.imageSmoothingEnabled = false;
  const table = pixelTable("weights");
  for (let layer = 0; layer < layers; layer++) {
    for (let head = 0; head < heads; head++) {
      const weights = /** @type {NonNullable<ReturnType<ModelTrace["picture"]>>} */ (trace.picture(layer, head, id));
      paintHead(one, weights, trace.mask(layer, head, id), table, [Infinity, Infinity]);
      context.drawImage(one, head * (w + GAP), layer * (h + GAP), one.width * pixels, one.height * pixels);
    }
  }
  return sheet.toDataURL("image/png");
}

/** The hatching of forbidden cells. */
function hatching() {
  const stroke = { stroke: cssColour("--line-2"), "stroke-width": 0.9 };
  const lines = svg("path", { d: "M0 4L4 0M-1 1L1 -1M3 5L5 3", ...stroke });
  return svg("defs", null, svg("pattern", { id: "hatch", width: 4, height: 4, patternUnits: "userSpaceOnUse" }, lines));
}

/** Room above each picture, for its name and its legend. */
const HEAD = 30;

/** What a picture is called. @param {Picture} picture @returns {string} */
export function pictureName({ kind, content }) {
  return kind === "bars" ? t("ribbon.prediction") : (content.title ?? content.id.toUpperCase());
}

/** The sign before a picture that is part of a formula; "" otherwise. @param {Picture} picture */
const signOf = ({ kind, content }) => (kind === "matrix" && content.sign) || "";

/** Its name after its sign: "= Z_5". @param {Picture} picture */
const signed = (picture) => `${signOf(picture)} ${pictureName(picture)}`.trimStart();

/** All names in a line: "Q_5 × K_5ᵀ = S_5", or "Q, K, V". @param {Picture[]} pictures */
export const pictureNames = (pictures) =>
  pictures.map((one, i) => (i === 0 ? "" : signOf(one) ? " " : ", ") + signed(one)).join("");

/** Whether a pixel of the file shows only the strongest of several numbers. @param {Picture[]} pictures */
export const arePooled = (pictures) => pictures.some((one) => one.kind === "matrix" && isPooled(one.size));

/**
 * @param {Picture[]} pictures
 * @param {Caption} caption
 */
export async function stationScene(pictures, caption) {
  const boxes = boxesOf(pictures);
  const left = Math.min(...boxes.map((box) => box.left));
  const top = Math.min(...boxes.map((box) => box.top)) - HEAD;
  const drawn = await Promise.all(pictures.map((picture, i) => drawnAs(picture, `picture-${i}`)));
  const nodes = pictures.map((picture, i) => {
    const at = `translate(${Math.round(boxes[i].left - left)} ${Math.round(boxes[i].top - top)})`; // edges stay sharp
    const name = pictures.length > 1 ? signed(picture) : ""; // the caption names a single picture
    return svg("g", { transform: at }, headOf(picture, name, `ramp-${i}`, boxes[i].width), drawn[i]);
  });
  const width = Math.max(...boxes.map((box) => box.right)) - left;
  const height = Math.max(...boxes.map((box) => box.bottom)) - top;
  return fileScene(caption, { width, height, nodes });
}

/** One picture, as large as it is drawn, below what its colours mean. @param {Picture} picture @param {Caption} caption */
export async function figureScene(picture, caption) {
  const { width, height } = picture.kind === "matrix" ? picture.size : sizeOf(picture.plot);
  const legend = fileLegend(picture, "ramp");
  const drawn = await drawnAs(picture, "picture");
  const nodes = [
    svg("g", { transform: "translate(0 11)" }, legend.nodes),
    svg("g", { transform: `translate(0 ${HEAD})` }, drawn),
  ];
  return fileScene(caption, { width: Math.max(width, legend.width), height: height + HEAD, nodes });
}

/** The size of a drawing, which may be no part of the page. @param {Element} plot */
function sizeOf(plot) {
  const { width, height } = plot.getBoundingClientRect();
  if (width) return { width, height };
  const [w, h] = ["width", "height"].map((name) => Number(plot.getAttribute(name)));
  return { width: w, height: h };
}

/** Where they are, with room for what only a file has: the axis titles of a matrix. @param {Picture[]} pictures */
function boxesOf(pictures) {
  const boxes = pictures.map((picture) => {
    const { left, top, width, height } = picture.plot.getBoundingClientRect();
    const own = picture.kind === "matrix" && picture.content.bare ? picture.size : { width, height };
    return {
      left,
      top,
      width,
      height,
      more: { x: Math.max(0, own.width - width), y: Math.max(0, own.height - height) },
    };
  });
  /** How far what is left of or above a picture pushes it. @param {(typeof boxes)[0]} one @param {"x"|"y"} axis @returns {number} */
  const pushed = (one, axis) => {
    const [from, size] =
      axis === "x" ? /** @type {const} */ (["left", "width"]) : /** @type {const} */ (["top", "height"]);
    const before = boxes.filter((other) => other !== one && other[from] + other[size] <= one[from] + 1);
    return Math.max(0, ...before.map((other) => pushed(other, axis) + other.more[axis]));
  };
  return boxes.map((one) => {
    const [left, top] = [one.left + pushed(one, "x"), one.top + pushed(one, "y")];
    const [width, height] = [one.width + one.more.x, one.height + one.more.y];
    return { left, top, width, height, right: left + width, bottom: top + height };
  });
}

/** A picture as an SVG element of this document. @param {Picture} picture @param {string} id  unique in its file */
async function drawnAs(picture, id) {
  if (picture.kind === "matrix") return fileNode(picture.content, picture.size, id);
  if (picture.kind === "lines") return lookedAs(picture.plot);
  if (picture.kind === "drawn") return asOne(picture.plot);
  const url = await toImage(picture.plot, { format: "svg" });
  const text = xmlText(decodeURIComponent(url.slice(url.indexOf(",") + 1)));
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (root.nodeName !== "svg") throw new Error(t("export.no_svg"));
  return document.adoptNode(root);
}

/** An SVG, or all in an element as one, each at its place with its name below. @param {Element} plot */
function asOne(plot) {
  if (plot instanceof SVGSVGElement) return lookedAs(plot);
  const { left, top, width, height } = plot.getBoundingClientRect();
  const placed = (/** @type {SVGSVGElement} */ drawn) => {
    const box = drawn.getBoundingClientRect();
    const copy = lookedAs(drawn);
    for (const [name, value] of Object.entries({
      x: box.left - left,
      y: box.top - top,
      width: box.width,
      height: box.height,
    }))
      copy.setAttribute(name, String(value));
    return copy;
  };
  const named = (/** @type {Element} */ name) => {
    const box = name.getBoundingClientRect();
    const [x, y] = [box.left - left + box.width / 2, box.bottom - top - 4];
    const look = { size: 11.5, colour: "--ink-2", face: "--mono", anchor: "middle" };
    return label(name.textContent ?? "", { x, y, ...look });
  };
  const [drawings, names] = [plot.querySelectorAll("svg"), plot.querySelectorAll("small")];
  return svg("svg", { width, height }, [...drawings].map(placed), [...names].map(named));
}

/** The same, as serialised markup. @param {Element} plot */
export const drawnMarkup = (plot) => new XMLSerializer().serializeToString(asOne(plot));

/** @param {Picture} picture @param {string} name @param {string} id @param {number} width */
function headOf(picture, name, id, width) {
  const room = width - textWidth(name, 13) - 24;
  const wide = fileLegend(picture, id);
  const legend = wide.width < room ? wide : fileLegend(picture, id, NARROW);
  const words = name && label(name, { x: 0, y: -10, size: 13, weight: 600 });
  return [
    words || null,
    legend.width < room && svg("g", { transform: `translate(${width - legend.width} -10)` }, legend.nodes),
  ];
}

/** A matrix, as serialised markup. @param {Extract<Picture, {kind: "matrix"}>} picture @param {string} id */
export function matrixMarkup({ content, size }, id) {
  const { width, height } = size;
  const node = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, fileNode(content, size, id));
  return new XMLSerializer().serializeToString(node);
}
