/** Draws a scene on a canvas. What is drawn follows from the scene and its look; nothing is kept. */

import { drawAnswers, drawLabels, write } from "./draw_words.js";

/**
 * @typedef {import("./layout.js").Scene} Scene  @typedef {import("./layout.js").Band} Band  @typedef {import("./lines.js").Line} Line
 * @typedef {import("./words.js").Name} Name  @typedef {CanvasRenderingContext2D} Pen
 * @typedef {{name: string, p: number, text: string, before: number|null, rest?: boolean}} Bar  one answer; `before`: without the cuts;
 *   `rest`: all others together
 * @typedef {Object} Look
 * @property {Record<"ink"|"dim"|"line"|"hair"|"own"|"pale"|"deep"|"q"|"bar"|"accent"|"ground", string>} colours
 * @property {string} font  the family
 * @property {number} type  how much larger than usual letters are
 * @property {Name[][]} names  of each band's tokens
 * @property {(band: Band, layer: number, narrow: boolean) => string} title  of a layer
 * @property {(n: number) => string} folded  what a row of n tokens is called
 * @property {Bar[]} bars
 * @property {(line: Line) => {colour: string, shown: boolean}} tone  of a line, and whether it is drawn though it is thin
 * @property {Line|null} hovered
 * @property {{band: number, row: number, layer: number}|null} cursor  of the keyboard
 */

/** Below this width of a layer its title is its number alone. */
const NARROW = 62;

/** @param {Pen} pen @param {Scene} scene @param {Look} look */
export function drawScene(pen, scene, look) {
  scene.bands.forEach((band) => drawGrid(pen, band, scene, look));
  drawWash(pen, scene.lines, look);
  drawStreams(pen, scene, look);
  drawLines(pen, scene.lines, look);
  for (const ghost of scene.ghosts) drawGhost(pen, ghost, look);
  scene.beads.forEach((bead) => drawBead(pen, bead, look));
  scene.bands.forEach((band, i) => drawLabels(pen, band, look.names[i], look));
  drawAnswers(pen, scene, look);
  if (look.cursor) drawCursor(pen, scene, look.cursor, look);
}

/** Hairlines between layers, a line for each row, the names of the layers. @param {Pen} pen @param {Band} band @param {Scene} scene @param {Look} look */
function drawGrid(pen, band, { bands, height }, look) {
  const { columns, rows, top, bottom, end } = band;
  const [first, last] = [columns[0], columns[columns.length - 1]];
  const floor = bands.length > 1 ? bottom + 4 : height;
  const xs = [...columns.map(({ x0 }) => x0), last.x1];
  stroke(pen, look.colours.hair, 1, (path) => {
    for (const x of xs) path.push(["M", crisp(x), top - 22 * look.type], ["L", crisp(x), floor]);
  });
  stroke(pen, look.colours.line, rows[0].height < 12 ? 0.5 : 1, (path) => {
    for (const { y } of rows) path.push(["M", first.x0 - 6, crisp(y)], ["L", end, crisp(y)]);
  });
  const narrow = columns[0].x1 - columns[0].x0 < NARROW * look.type;
  write(pen, look, { size: 13, colour: look.colours.dim });
  columns.forEach(({ x0 }, layer) =>
    pen.fillText(look.title(band, layer, narrow), x0 + (narrow ? 4 : 8), top - 12 * look.type),
  );
}

/** All that is not drawn line by line, as one pale picture. @param {Pen} pen @param {Line[]} lines @param {Look} look */
function drawWash(pen, lines, look) {
  const rest = lines.filter(({ own, shown }) => !own && !shown);
  for (const [least, most, width] of [
    [0, 0.3, 0.35],
    [0.3, 1, 0.6],
    [1, Infinity, 1.2],
  ]) {
    const some = rest.filter((line) => line.width >= least && line.width < most);
    stroke(pen, look.colours.pale, width, (path) => some.forEach((line) => path.push(...curve(line))), 0.5);
  }
}

/** The rivers of the tokens themselves. @param {Pen} pen @param {Scene} scene @param {Look} look */
function drawStreams(pen, { lines, streams }, look) {
  for (const line of lines) {
    // Half a pixel longer at both ends: no seam shows between two layers.
    const { x0, x1 } = line;
    if (line.own)
      stroke(pen, look.colours.own, Math.max(0.5, line.width), (path) =>
        path.push(...curve({ ...line, x0: x0 - 0.5, x1: x1 + 0.5 })),
      );
  }
  for (const { x0, x1, y, width } of streams) {
    stroke(pen, look.colours.own, Math.max(0.5, width), (path) => path.push(["M", x0 - 0.5, y], ["L", x1 + 0.5, y]));
  }
}

/** The thin ones below the wide ones, those that decide on top. @param {Pen} pen @param {Line[]} lines @param {Look} look */
function drawLines(pen, lines, look) {
  const shown = lines.filter(({ own }) => !own).map((line) => ({ line, ...look.tone(line) }));
  const drawn = shown.filter(({ line, shown }) => shown || line === look.hovered);
  for (const { line, colour } of drawn.sort((a, b) => a.line.width - b.line.width)) {
    const on = line === look.hovered;
    const width = Math.max(on ? 2.5 : 0.9, line.width);
    stroke(pen, on ? look.colours.q : colour, width, (path) => path.push(...curve(line)), 0.95);
  }
}

/** A cut line. @param {Pen} pen @param {Line} line @param {Look} look */
function drawGhost(pen, line, look) {
  pen.setLineDash([3, 4]);
  const on = line === look.hovered;
  stroke(pen, look.colours.q, Math.max(on ? 3 : 1.6, line.width), (path) => path.push(...curve(line)), on ? 1 : 0.9);
  pen.setLineDash([]);
}

/** @param {Pen} pen @param {import("./layout.js").Bead} bead @param {Look} look */
function drawBead(pen, { x, y, radius }, { colours }) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fillStyle = colours.dim;
  pen.fill();
  pen.lineWidth = 1.5;
  pen.strokeStyle = colours.ground;
  pen.stroke();
}

/** The keyboard's place: one token in one layer. @param {Pen} pen @param {Scene} scene @param {NonNullable<Look["cursor"]>} cursor @param {Look} look */
function drawCursor(pen, { bands }, { band, row, layer }, { colours }) {
  const { rows, columns } = bands[band];
  const [{ y, height }, { x0, x1 }] = [rows[row], columns[layer]];
  pen.strokeStyle = colours.accent;
  pen.lineWidth = 2.5;
  pen.beginPath();
  pen.roundRect(x0 + 1.5, y - Math.max(8, height / 2), x1 - x0 - 3, Math.max(16, height), 5);
  pen.stroke();
}

/** @param {Line} line @returns {[string, ...number[]][]} */
function curve({ x0, y0, x1, y1 }) {
  const middle = (x0 + x1) / 2;
  return [
    ["M", x0, y0],
    ["C", middle, y0, middle, y1, x1, y1],
  ];
}

/** One stroke of a whole path: where its parts cross it is no darker. @param {Pen} pen @param {string} colour @param {number} width @param {(path: [string, ...number[]][]) => void} fill @param {number} [alpha] */
function stroke(pen, colour, width, fill, alpha = 1) {
  /** @type {[string, ...number[]][]} */
  const path = [];
  fill(path);
  pen.beginPath();
  for (const [to, ...at] of path) {
    if (to === "M") pen.moveTo(at[0], at[1]);
    else if (to === "L") pen.lineTo(at[0], at[1]);
    else pen.bezierCurveTo(at[0], at[1], at[2], at[3], at[4], at[5]);
  }
  pen.globalAlpha = alpha;
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.stroke();
  pen.globalAlpha = 1;
}

/** Between two pixels, where a line of one pixel is sharp. @param {number} at */
const crisp = (at) => Math.round(at) + 0.5;
