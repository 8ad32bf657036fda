/** The rivers on the picture: streams, lines, and the wash of all that is too thin to be drawn one by one. */

import { swollen } from "./animation.js";

/**
 * @import { Scene } from "../layout/layout.js"
 * @import { Line } from "../layout/lines.js"
 * @import { PictureStyle, Pen } from "./scene.js"
 */

/** The width of all streams before they swell. */
const THIN = 0.8;

/** @param {Pen} pen @param {Scene} scene @param {PictureStyle} style */
export function drawRivers(pen, scene, style) {
  pen.save();
  if (style.stage) reached(pen, scene, style.stage.flow);
  drawWash(pen, scene, style);
  drawStreams(pen, scene, style);
  drawLines(pen, scene, style);
  if (!style.stage) for (const ghost of scene.ghosts) drawGhost(pen, ghost, style);
  pen.restore();
}

/** Of a scene, its thin lines by their width: they do not change while it plays. @type {WeakMap<Scene, {width: number, path: Path2D, shown: number}[]>} */
const washes = new WeakMap();

/** All that is not drawn line by line, as one pale picture. @param {Pen} pen @param {Scene} scene @param {PictureStyle} style */
function drawWash(pen, scene, style) {
  const shown = scene.lines.filter((line) => line.shown).length; // what decides leaves the wash
  const known = style.path ? undefined : washes.get(scene);
  const wash = known?.[0].shown === shown ? known : washOf(scene.lines, shown, style.path ?? (() => new Path2D()));
  if (!style.path) washes.set(scene, wash);
  pen.strokeStyle = style.colours.pale;
  pen.globalAlpha = 0.5 * fadeOf(style) * (style.stage?.swell ?? 1);
  for (const { width, path } of wash) {
    pen.lineWidth = width;
    pen.stroke(path);
  }
  pen.globalAlpha = 1;
}

/** @param {Line[]} lines @param {number} shown @param {() => Path2D} make */
function washOf(lines, shown, make) {
  const rest = lines.filter((line) => !line.own && !line.shown);
  const widths = [
    { least: 0, most: 0.3, width: 0.35 },
    { least: 0.3, most: 1, width: 0.6 },
    { least: 1, most: Infinity, width: 1.2 },
  ];
  return widths.map(({ least, most, width }) => {
    const path = make();
    for (const line of rest) if (line.width >= least && line.width < most) bend(path, line);
    return { width, path, shown };
  });
}

/** Draws only as far as the streams have come. @param {Pen} pen @param {Scene} scene @param {number} flow */
function reached(pen, scene, flow) {
  const [from, to] = rangeOf(scene);
  pen.beginPath();
  pen.rect(0, 0, from + (to - from) * flow, scene.height);
  pen.clip();
}

/** Where the first layer begins and the last one ends. @param {Scene} scene */
const rangeOf = ({ bands }) => [Math.min(...bands.map(({ columns }) => columns[0].x0)), bands[0].end];

/** How wide a line is at this moment: thin and equal, until it swells. @param {Scene} scene @param {PictureStyle} style @param {{x1: number, width: number}} line @param {number} least */
function widthNow(scene, { stage }, { x1, width }, least) {
  const full = Math.max(least, width);
  if (!stage) return full;
  const [from, to] = rangeOf(scene);
  return THIN + (full - THIN) * swollen(stage, (to - x1) / (to - from));
}

/** The rivers of the tokens themselves: half a pixel longer at both ends, so that no seam shows between two layers. @param {Pen} pen @param {Scene} scene @param {PictureStyle} style */
function drawStreams(pen, scene, style) {
  const { own } = style.colours;
  const fade = fadeOf(style);
  for (const line of scene.lines) {
    if (!line.own) continue;
    const { x0, y0, x1, y1 } = line;
    const width = widthNow(scene, style, line, 0.5);
    stroke(pen, own, width, () => bend(pen, { x0: x0 - 0.5, y0, x1: x1 + 0.5, y1 }), fade);
  }
  for (const { x0, x1, y, width } of scene.streams) {
    const straight = () => {
      pen.moveTo(x0 - 0.5, y);
      pen.lineTo(x1 + 0.5, y);
    };
    stroke(pen, own, widthNow(scene, style, { x1, width }, 0.5), straight, fade);
  }
}

/** While one head is shown, all else fades. @param {PictureStyle} style */
const fadeOf = ({ preview }) => (preview ? 0.22 : 1);

/** The thin ones below the wide ones, those that decide on top. @param {Pen} pen @param {Scene} scene @param {PictureStyle} style */
function drawLines(pen, scene, style) {
  const drawn = scene.lines.filter((line) => !line.own && (line.shown || line === style.hovered));
  for (const line of drawn.sort((a, b) => a.width - b.width)) {
    const on = line === style.hovered;
    const width = widthNow(scene, style, line, on ? 2.5 : 0.9);
    stroke(pen, on ? style.colours.q : style.tone(line), width, () => bend(pen, line), 0.95 * fadeOf(style));
  }
}

/** A cut line. @param {Pen} pen @param {Line} line @param {PictureStyle} style */
function drawGhost(pen, line, style) {
  pen.setLineDash([3, 4]);
  const on = line === style.hovered;
  stroke(pen, style.colours.cut, Math.max(on ? 3 : 1.6, line.width), () => bend(pen, line), on ? 1 : 0.9);
  pen.setLineDash([]);
}

/** @param {Pick<Path2D, "moveTo"|"bezierCurveTo">} path @param {{x0: number, y0: number, x1: number, y1: number}} line */
export function bend(path, { x0, y0, x1, y1 }) {
  const middle = (x0 + x1) / 2;
  path.moveTo(x0, y0);
  path.bezierCurveTo(middle, y0, middle, y1, x1, y1);
}

/** One stroke of a whole path: where its parts cross it is no darker. @param {Pen} pen @param {string} colour @param {number} width @param {(pen: Pen) => void} draw  the path @param {number} [alpha] */
export function stroke(pen, colour, width, draw, alpha = 1) {
  pen.beginPath();
  draw(pen);
  pen.globalAlpha = alpha;
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.stroke();
  pen.globalAlpha = 1;
}
