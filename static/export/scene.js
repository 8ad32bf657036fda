/**
 * One SVG with a caption around its contents. Built as nodes and serialised, so that a token that spells markup stays
 * text.
 */

import { cssColour } from "../chart/theme.js";
import { cutToWidth } from "../model/labels.js";
import { svg } from "../ui/dom.js";
import { number } from "../ui/format.js";
import { t } from "../ui/i18n.js";
import { xmlText } from "../ui/save.js";

/**
 * @import { Bars } from "../chart/bars/bar_picture.js"
 * @import { Matrix } from "../chart/matrix/matrix.js"
 * @import { Picture } from "../chart/pictures.js"
 * @import { Drawing as Scene } from "../ui/save.js"
 */

const EDGE = 16;
const MOST_LINES = 3;
/** As many lines has what is said about the numbers. */
const ABOUT_LINES = 8;
const LEAST_WIDTH = 420;
/** Bold letters of 15 pixels are as wide as others of this size. */
const BOLD = 17;

/**
 * @typedef {{title: string, sentence: string, source: string, about?: string, link?: string}} Caption  `about`: what the numbers are;
 *   `link`: to what is shown; it is not drawn, but stands in the file's description
 */

/**
 * @param {Caption} caption
 * @param {{width: number, height: number, nodes: Node[]}} content
 * @returns {Scene}
 */
export function fileScene(caption, content) {
  const inner = Math.max(LEAST_WIDTH, content.width);
  const titles = wrap(xmlText(caption.title), inner, BOLD);
  const lines = wrap(xmlText(caption.sentence).replace(/\s*\n\s*/g, " ↵ "), inner, 14);
  const about = caption.about ? wrap(xmlText(caption.about), inner, 12.5, ABOUT_LINES) : [];
  const sources = wrap(xmlText(caption.source), inner, 11.5);
  const top = EDGE + 4 + (titles.length + lines.length) * 20 + 10;
  const below = top + content.height + 22;
  const foot = below + about.length * 17 + (about.length ? 6 : 0);
  const [width, height] = [Math.ceil(inner + 2 * EDGE), Math.ceil(foot + sources.length * 16 - 4)];
  const said = [caption.sentence, caption.about, caption.source, caption.link].filter(Boolean).join("\n");
  const root = svg(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` },
    svg("title", null, xmlText(caption.title)),
    svg("desc", null, xmlText(said)),
    svg("rect", { width, height, fill: cssColour("--panel") }),
    titles.map((line, i) => label(line, { x: EDGE, y: EDGE + 14 + i * 20, size: 15, weight: 650 })),
    lines.map((line, i) => label(line, { x: EDGE, y: EDGE + 18 + (titles.length + i) * 20, size: 14 })),
    svg("g", { transform: `translate(${EDGE + (inner - content.width) / 2} ${top})` }, content.nodes),
    about.map((line, i) => label(line, { x: EDGE, y: below + i * 17, size: 12.5 })),
    sources.map((line, i) => label(line, { x: EDGE, y: foot + i * 16, size: 11.5, colour: "--ink-2" })),
  );
  return {
    svg: new XMLSerializer().serializeToString(root),
    width,
    height,
    about: xmlText(`${caption.title}\n${said}`),
  };
}

/**
 * A line of text.
 * @param {string} text
 * @param {{x: number, y: number, size?: number, weight?: number, colour?: string, face?: string, anchor?: string}} look
 */
export function label(text, { x, y, size = 12, weight = 400, colour = "--ink", face = "--font", anchor = "start" }) {
  const attrs = {
    x,
    y,
    "font-size": size,
    "font-weight": weight,
    "font-family": cssColour(face),
    "text-anchor": anchor,
  };
  return svg("text", { ...attrs, fill: cssColour(colour), style: { "white-space": "pre" } }, xmlText(text));
}

/** @type {CanvasRenderingContext2D|null} */
let pen = null;

/** @param {string} text @param {number} size */
export function textWidth(text, size, face = "--font") {
  pen ??= /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  pen.font = `${size}px ${cssColour(face)}`;
  return pen.measureText(text).width;
}

/** Lines of `width`, broken at spaces where possible; the last one ends with an ellipsis if text is left over. @param {string} text @param {number} width @param {number} size */
function wrap(text, width, size, most = MOST_LINES) {
  const lines = [""];
  for (const piece of piecesOf(text)) {
    if (textWidth(lines[lines.length - 1] + piece, size) > width) lines.push("");
    lines[lines.length - 1] += lines.at(-1) ? piece : piece.trimStart();
    if (lines.length > most) break;
  }
  const shown = lines.slice(0, most).map((line) => shortened(line, width, size));
  if (lines.length > most) shown[most - 1] = shortened(`${shown[most - 1]} …`, width, size);
  return shown;
}

/** What a line break may part: words, spaces, Japanese letters; no line begins with a closing sign or ends with an opening one. @param {string} text */
export const piecesOf = (text) =>
  text.match(/\s+|[「『（【]*(?:[^\s\u3000-\u9fff「『（【]+|[\u3000-\u9fff])[、。」』）】！？：；]*|[「『（【]+/gu) ??
  [];

/** Breaks a word that is wider than the picture. @param {string} line @param {number} width @param {number} size */
function shortened(line, width, size) {
  return cutToWidth(line, width, (text) => textWidth(text, size));
}

// What a picture's colours mean, as SVG: its smallest and largest number, or its series.

/** How wide its colours are. */
const WIDE = 110;

/** The same in a small picture. */
export const NARROW = 40;

/** Its nodes in a row, and how wide they are. @param {Picture} picture @param {string} id  of its colours: unique in the file */
export function fileLegend({ kind, content }, id, ramp = WIDE) {
  if (kind === "drawn") return inRow(content.legend ? [words(content.legend)] : []);
  return kind === "matrix" ? matrixLegend(content, id, ramp) : barsLegend(content);
}

/** The same, as serialised markup. @param {Picture} picture @param {string} id */
export function legendMarkup(picture, id) {
  const { nodes, width } = fileLegend(picture, id);
  const size = { width: Math.ceil(width), height: 14, viewBox: `0 -11 ${Math.ceil(width)} 14` };
  return new XMLSerializer().serializeToString(svg("svg", { ...size, "aria-hidden": true }, nodes));
}

/** @typedef {[make: (x: number) => Node[], width: number]} Item  of a legend: nodes at x, and how wide they are */

/** Things in a row, from left to right. @param {Item[]} items */
function inRow(items) {
  let x = 0;
  const nodes = items.flatMap(([make, width]) => {
    const made = make(x);
    x += width + 7;
    return made;
  });
  return { nodes, width: x };
}

/** @param {string} text @returns {Item} */
const words = (text) => [(x) => [label(text, { x, y: 0, size: 11.5, colour: "--ink-2" })], textWidth(text, 11.5)];

/** @param {Matrix} matrix @param {string} id @param {number} wide */
function matrixLegend({ scale, forbidden, hatched, hatching, legend }, id, wide) {
  if (legend) return inRow([words(legend)]);
  const ramp = (/** @type {number} */ x) => [
    svg(
      "linearGradient",
      { id },
      scale.stops.map((stop, i) => svg("stop", { offset: i / (scale.stops.length - 1), "stop-color": stop })),
    ),
    svg("rect", { x, y: -9, width: wide, height: 9, rx: 4, fill: `url(#${id})`, stroke: cssColour("--line") }),
  ];
  const written = (/** @type {number} */ end) => (Number.isInteger(end) ? number(end, 0) : number(end, 2));
  const [from, to] = scale.ends ?? [scale.min, scale.max].map(written);
  /** @type {Item[]} */
  const colours = scale.steps ? [] : [words(from), [ramp, wide], words(to)];
  /** @type {Item[]} */
  const hatch = (hatched ?? forbidden) ? [[(x) => hatchBox(x), 22], words(hatching ?? t("matrix.forbidden_word"))] : [];
  return inRow([...colours, ...hatch]);
}

/** @param {number} x */
function hatchBox(x) {
  const line = { stroke: cssColour("--line-2"), fill: "none" };
  return [
    svg("rect", { x, y: -10, width: 22, height: 11, rx: 3, ...line }),
    svg("path", { d: `M${x + 1} 0l9 -9M${x + 7} 0l9 -9M${x + 13} 0l8 -8`, ...line }),
  ];
}

/** @param {Pick<Bars, "series">} bars */
function barsLegend({ series }) {
  /** @param {string} colour @returns {Item} */
  const box = (colour) => [(x) => [svg("rect", { x, y: -9, width: 12, height: 9, rx: 2, fill: colour })], 12];
  return inRow(series.flatMap(({ name, colour }) => [box(colour), words(name)]));
}
