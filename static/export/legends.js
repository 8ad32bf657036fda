/** What a picture's colours mean, as SVG: its smallest and largest number, or its series. */

import { cssColour } from "../chart/colour.js";
import { svg } from "../ui/dom.js";
import { number } from "../ui/format.js";
import { t } from "../ui/i18n.js";
import { label, textWidth } from "./scene.js";

/**
 * @import { Matrix } from "../chart/matrix/matrix.js"
 * @import { Picture } from "../chart/pictures.js"
 */

/** How wide its colours are. */
export const WIDE = 110;

/** The same in a small picture. */
export const NARROW = 40;

/** Its nodes in a row, and how wide they are. @param {Picture} picture @param {string} id  of its colours: unique in the file */
export function legendOf({ kind, content }, id, ramp = WIDE) {
  if (kind === "drawn") return inRow(content.legend ? [words(content.legend)] : []);
  return kind === "matrix" ? matrixLegend(content, id, ramp) : barsLegend(content);
}

/** The same, as serialised markup. @param {Picture} picture @param {string} id */
export function legendMarkup(picture, id) {
  const { nodes, width } = legendOf(picture, id);
  const size = { width: Math.ceil(width), height: 14, viewBox: `0 -11 ${Math.ceil(width)} 14` };
  return new XMLSerializer().serializeToString(svg("svg", { ...size, "aria-hidden": true }, nodes));
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

/** @param {Matrix} matrix @param {string} id @param {number} wide */
function matrixLegend({ scale, forbidden, hatched, legend }, id, wide) {
  if (legend) return inRow([words(legend)]);
  const ramp = (x) => [
    svg(
      "linearGradient",
      { id },
      scale.stops.map((stop, i) => svg("stop", { offset: i / (scale.stops.length - 1), "stop-color": stop })),
    ),
    svg("rect", { x, y: -9, width: wide, height: 9, rx: 4, fill: `url(#${id})`, stroke: cssColour("--line") }),
  ];
  const written = (end) => (Number.isInteger(end) ? number(end, 0) : number(end, 2));
  const [from, to] = scale.ends ?? [scale.min, scale.max].map(written);
  const colours = scale.steps ? [] : [words(from), [ramp, wide], words(to)];
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
