/** The pictures of the open station as one SVG: each at its place on the page, with its name and its colours. */

import { lookedAs } from "../chart/lines/figure.js";
import { fileNode } from "../chart/matrix/nodes.js";
import { isPooled } from "../chart/matrix/svg.js";
import { toImage } from "../chart/plotly.js";
import { svg } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { xmlText } from "../ui/save.js";
import { fileLegend, fileScene, label, NARROW, textWidth } from "./scene.js";

/** @import { Picture } from "../chart/pictures.js" */

/** Room above each picture, for its name and its legend. */
const HEAD = 30;

/** What a picture is called. @param {Picture} picture @returns {string} */
export function pictureName({ kind, content }) {
  return kind === "bars" ? t("ribbon.prediction") : (content.title ?? content.id.toUpperCase());
}

/** What is before it, where pictures are a formula; "" otherwise. @param {Picture} picture */
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
 * @param {{title: string, sentence: string, source: string}} caption
 */
export async function stationScene(pictures, caption) {
  const boxes = pictures.map(({ plot }) => plot.getBoundingClientRect());
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
