/** The pictures of the open station as one SVG: each at its place on the page, with its name and its colours. */

import { cssColour } from "../chart/colour.js";
import { lookedAs } from "../chart/lines/figure.js";
import { fileNode } from "../chart/matrix/nodes.js";
import { toImage } from "../chart/plotly.js";
import { svg } from "../ui/dom.js";
import { number } from "../ui/format.js";
import { t } from "../ui/i18n.js";
import { xmlText } from "../ui/xml.js";
import { label, sceneOf, textWidth } from "./scene.js";

/** Room above each picture, for its name and its legend. */
const HEAD = 30;

/** @typedef {import("../chart/pictures.js").Picture} Picture */

/** What a picture is called. @param {Picture} picture @returns {string} */
export function nameOf({ kind, content }) {
  return kind === "bars" ? t("ribbon.prediction") : (content.title ?? content.id.toUpperCase());
}

/**
 * @param {Picture[]} pictures
 * @param {{title: string, sentence: string, source: string}} caption
 */
export async function stationScene(pictures, caption) {
  const boxes = pictures.map(({ plot }) => plot.getBoundingClientRect());
  const left = Math.min(...boxes.map((box) => box.left));
  const top = Math.min(...boxes.map((box) => box.top)) - HEAD;
  const drawn = await Promise.all(pictures.map((picture, i) => drawnAs(picture, `picture-${i}`)));
  const nodes = pictures.map((picture, i) => {
    const at = `translate(${Math.round(boxes[i].left - left)} ${Math.round(boxes[i].top - top)})`; // edges stay sharp
    const name = pictures.length > 1 ? nameOf(picture) : ""; // the caption names a single picture
    return svg("g", { transform: at }, headOf(picture, name, `ramp-${i}`, boxes[i].width), drawn[i]);
  });
  const width = Math.max(...boxes.map((box) => box.right)) - left;
  const height = Math.max(...boxes.map((box) => box.bottom)) - top;
  return sceneOf(caption, { width, height, nodes });
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

function headOf(picture, name, id, width) {
  const legend = legendOf(picture, id);
  const room = legend.width + textWidth(name, 13) + 24 < width;
  const words = name && label(name, { x: 0, y: -10, size: 13, weight: 600 });
  return [words || null, room && svg("g", { transform: `translate(${width - legend.width} -10)` }, legend.nodes)];
}

/** The legend, as serialised markup. @param {Picture} picture @param {string} id */
export function legendMarkup(picture, id) {
  const { nodes, width } = legendOf(picture, id);
  const size = { width: Math.ceil(width), height: 14, viewBox: `0 -11 ${Math.ceil(width)} 14` };
  return new XMLSerializer().serializeToString(svg("svg", { ...size, "aria-hidden": true }, nodes));
}

/** A matrix, as serialised markup. @param {Extract<Picture, {kind: "matrix"}>} picture @param {string} id */
export function matrixMarkup({ content, size }, id) {
  const { width, height } = size;
  const node = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, fileNode(content, size, id));
  return new XMLSerializer().serializeToString(node);
}

function legendOf({ kind, content }, id) {
  if (kind === "drawn") return inRow(content.legend ? [words(content.legend)] : []);
  return kind === "matrix" ? matrixLegend(content, id) : barsLegend(content);
}

/** Things in a row, from left to right: [node maker, width]. */
function inRow(items) {
  let x = 0;
  const nodes = items.flatMap(([make, width]) => {
    const made = make(x);
    x += width + 7;
    return made;
  });
  return { nodes, width: x };
}

const words = (text) => [(x) => [label(text, { x, y: 0, size: 11.5, colour: "--ink-2" })], textWidth(text, 11.5)];

function matrixLegend({ scale, forbidden, hatched }, id) {
  const ramp = (x) => [
    svg(
      "linearGradient",
      { id },
      scale.stops.map((stop, i) => svg("stop", { offset: i / (scale.stops.length - 1), "stop-color": stop })),
    ),
    svg("rect", { x, y: -9, width: 110, height: 9, rx: 4, fill: `url(#${id})`, stroke: cssColour("--line") }),
  ];
  const written = (end) => (Number.isInteger(end) ? number(end, 0) : number(end, 2));
  const [from, to] = scale.ends ?? [scale.min, scale.max].map(written);
  const colours = scale.steps ? [] : [words(from), [ramp, 110], words(to)];
  const hatch = (hatched ?? forbidden) ? [[(x) => hatchBox(x), 22], words(t("matrix.forbidden_word"))] : [];
  return inRow([...colours, ...hatch]);
}

function hatchBox(x) {
  const line = { stroke: cssColour("--line-2"), fill: "none" };
  return [
    svg("rect", { x, y: -10, width: 22, height: 11, rx: 3, ...line }),
    svg("path", { d: `M${x + 1} 0l9 -9M${x + 7} 0l9 -9M${x + 13} 0l8 -8`, ...line }),
  ];
}

function barsLegend({ series }) {
  const box = (colour) => [(x) => [svg("rect", { x, y: -9, width: 12, height: 9, rx: 2, fill: colour })], 12];
  return inRow(series.flatMap(({ name, colour }) => [box(colour), words(name)]));
}
