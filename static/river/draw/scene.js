/** Draws a scene on a canvas. What is drawn follows from the scene and its style; nothing is kept. */

import { edgeKey } from "../../model/interventions.js";
import { memo } from "../../model/memo.js";
import { swollen } from "./animation.js";
import { drawHeads, drawHeadWords, drawOpened } from "./heads.js";
import { drawAnswers, drawLabels, drawLens, underlined, write } from "./text.js";

/**
 * @import { Name } from "../../model/labels.js"
 * @import { Square } from "../layout/heads.js"
 * @import { Band, Bead, Link, Scene, Strip } from "../layout/layout.js"
 * @import { Line } from "../layout/lines.js"
 * @import { Bar } from "../words/names.js"
 * @import { PlaceName } from "../../views/places.js"
 * @import { Open } from "../view_state.js"
 * @import { Stage } from "./animation.js"
 */

// Streams, lines, and the wash of all that is too thin to be drawn one by one.

/** The width of all streams before they swell. */
const THIN = 0.8;

/** Whether its lines show what has changed. @param {Scene} scene */
const shows = ({ lines }) => lines.some(({ change }) => change !== undefined);

/** @param {Pen} pen @param {Scene} scene @param {PictureStyle} given */
function drawRivers(pen, scene, given) {
  const style = {
    ...given,
    quiet: scene.isStrip && !shows(scene) && (scene.chosen !== null || scene.ghosts.length > 0),
  };
  pen.save();
  if (style.stage) reached(pen, scene, style.stage.flow);
  drawWash(pen, scene, style);
  drawStreams(pen, scene, style);
  drawLines(pen, scene, style);
  if (!style.stage) {
    const thin = scene.isStrip && scene.ghosts.length > MOST_NAMED ? 1.2 : 1.8;
    for (const ghost of scene.ghosts) drawGhost(pen, ghost, thin, style);
    const ofHeads = scene.ghosts.filter((ghost) => ghost.head !== undefined);
    if (ofHeads.length <= MOST_NAMED) for (const ghost of ofHeads) drawGhostName(pen, ghost, scene, style);
  }
  pen.restore();
}

/** More hidden heads than this would write over each other. */
const MOST_NAMED = 2;

/** In which head alone a line is knocked out: the line beside it is what the other heads still pass on. @param {Pen} pen @param {Line} ghost @param {Scene} scene @param {PictureStyle} style */
function drawGhostName(pen, { x0, y0, x1, y1, to, layer, head }, { bands, squares }, style) {
  const text = style.onlyHead(`${layer}·${head}`);
  write(pen, style, { size: 12, colour: style.colours.cut, bold: true });
  const off = squares.length ? 0 : pen.measureText(style.headsOff(bands[to].stack, layer)).width; // `drawOff` begins 8 after x0
  const [x, y] = [Math.max((x0 + x1) / 2, x0 + 8 + off) + 8, (y0 + y1) / 2 - 6];
  if (x + pen.measureText(text).width > x1) return; // its layer is too narrow
  pen.lineJoin = "round";
  pen.lineWidth = 4;
  pen.strokeStyle = style.colours.soft;
  pen.strokeText(text, x, y);
  pen.fillText(text, x, y);
}

/** The thin lines of a scene: they do not change while it plays, until more of its lines are `shown` one by one. */
const washIn = memo((/** @type {Scene} */ scene, /** @type {number} */ _shown) =>
  washOf(scene.lines, () => new Path2D()),
);

/** All that is not drawn line by line, as one pale picture. @param {Pen} pen @param {Scene} scene @param {PictureStyle} style */
function drawWash(pen, scene, style) {
  const shown = scene.lines.filter((line) => line.shown).length; // the lines that matter most are not part of the wash
  const wash = style.path ? washOf(scene.lines, style.path) : washIn(scene, shown);
  pen.strokeStyle = style.colours.pale;
  pen.globalAlpha = 0.5 * fadeOf(style) * (style.stage?.swell ?? 1);
  for (const { width, path } of wash) {
    pen.lineWidth = width;
    pen.stroke(path);
  }
  pen.globalAlpha = 1;
}

/** By their width. @param {Line[]} lines @param {() => Path2D} make */
function washOf(lines, make) {
  const rest = lines.filter((line) => !line.own && !line.shown);
  const widths = [
    { least: 0, most: 0.3, width: 0.35 },
    { least: 0.3, most: 1, width: 0.6 },
    { least: 1, most: Infinity, width: 1.2 },
  ];
  return widths.map(({ least, most, width }) => {
    const path = make();
    for (const line of rest) if (line.width >= least && line.width < most) bend(path, line);
    return { width, path };
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
    const width = widthNow(scene, style, line, 0.5 * finenessOf(scene.bands[line.to]));
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

/** Rows that are nearer than this, in pixels, have thinner lines: together they would be one grey plane. */
const NEAR = 4;

/** @param {Band} band */
const finenessOf = ({ rows }) => Math.min(1, Math.min(rows[0].height, rows[rows.length - 1].height) / NEAR) || 1;

/** While one head is shown, all else fades; in the strip, beside the one line that is open or knocked out. @param {PictureStyle & {quiet?: boolean}} style */
const fadeOf = ({ preview, quiet }) => (preview ? 0.22 : quiet ? 0.4 : 1);

/** The thin lines below the wide ones, or those that change less; under one that passes on less, the width that it had. @param {Pen} pen @param {Scene} scene @param {PictureStyle} style */
function drawLines(pen, scene, style) {
  const lit = (/** @type {Line} */ line) =>
    line === style.hovered ||
    line === style.picked ||
    (style.lit.size > 0 && !line.own && style.lit.has(edgeKey(line)));
  const drawn = scene.lines.filter((line) => !line.own && (line.shown || lit(line)));
  const weight = (/** @type {Line} */ { width, change }) => (change === undefined ? width : Math.abs(change));
  for (const line of drawn.sort((a, b) => weight(a) - weight(b))) {
    const on = lit(line);
    const { was = 0 } = line;
    if (was > line.width) stroke(pen, style.lost, was, () => bend(pen, line), fadeOf(style));
    const width = widthNow(scene, style, line, on ? 2.5 : 0.9);
    const alpha = 0.95 * (on ? 1 : fadeOf(style));
    stroke(pen, on ? style.colours.q : style.tone(line), width, () => bend(pen, line), alpha);
  }
}

/** A line that is knocked out: thin, however wide it was, so that several stay apart. @param {Pen} pen @param {Line} line @param {number} thin @param {PictureStyle} style */
function drawGhost(pen, line, thin, style) {
  pen.setLineDash([5, 4]);
  const on = line === style.hovered || line === style.picked;
  stroke(pen, style.colours.cut, on ? 3 : thin, () => bend(pen, line));
  pen.setLineDash([]);
}

/** @param {Pick<Path2D, "moveTo"|"bezierCurveTo">} path @param {{x0: number, y0: number, x1: number, y1: number}} line */
function bend(path, { x0, y0, x1, y1 }) {
  const middle = (x0 + x1) / 2;
  path.moveTo(x0, y0);
  path.bezierCurveTo(middle, y0, middle, y1, x1, y1);
}

/** One stroke of a whole path, which is no darker where its parts cross. @param {Pen} pen @param {string} colour @param {number} width @param {(pen: Pen) => void} draw  the path @param {number} [alpha] */
function stroke(pen, colour, width, draw, alpha = 1) {
  pen.beginPath();
  draw(pen);
  pen.globalAlpha = alpha;
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.stroke();
  pen.globalAlpha = 1;
}

// All layers above the one that a phone has room for; the open one is framed.

/** @param {Pen} pen @param {Strip} strip @param {Pick<Scene, "only">} scene @param {PictureStyle} style */
function drawLayerStrip(pen, { scene, height, title }, { only }, style) {
  pen.save();
  pen.translate(0, title);
  pen.scale(1, (height - title) / scene.height);
  drawRivers(pen, scene, { ...style, preview: null, hovered: null, picked: null });
  pen.restore();
  for (const { stack, columns } of scene.bands) {
    if (title) {
      write(pen, style, { size: 12, colour: style.colours.dim });
      pen.fillText(style.stackName(stack), columns[0].x0 + 2, title - 5);
    }
    write(pen, style, { size: 11, colour: style.colours.dim });
    columns.forEach(({ x0, x1 }, layer) => {
      const open = only?.stack === stack && only.layer === layer;
      pen.fillText(String(layer), x0 + 5, title + 12 * style.type);
      pen.strokeStyle = open ? style.colours.accent : style.colours.hair;
      pen.lineWidth = open ? 2 : 1;
      pen.beginPath();
      pen.roundRect(x0 + 1, title + 1, x1 - x0 - 2, height - title - 2, 5);
      pen.stroke();
    });
  }
}

/**
 * @typedef {CanvasRenderingContext2D} Pen
 * @typedef {Object} PictureStyle
 * @property {Record<"ink"|"dim"|"line"|"hair"|"own"|"pale"|"deep"|"q"|"cut"|"bar"|"minus"|"accent"|"soft"|"ground", string>} colours
 * @property {string} font  the family
 * @property {PlaceName|null} place  the open one @property {(place: PlaceName) => string} placeName
 * @property {number} type  how much larger than usual letters are
 * @property {number} least  the smallest letter, in pixels
 * @property {Name[][]} names  of each band's tokens @property {string[]} wrote  by the rows of the first
 * @property {Name[]|null} writtenLabels  instead of its names, where there is no space for both
 * @property {(band: Band, layer: number, narrow: boolean) => string} title  of a layer
 * @property {(band: Band, layer: number) => string} counted  a title that says from where layers are counted
 * @property {(stack: string) => string} stackName @property {string} passed  what runs on from an encoder to its decoder
 * @property {(n: number) => string} folded  what a row of n tokens is called
 * @property {(head: string) => string} onlyHead  how a line is called that is knocked out in one head
 * @property {{stack: number, key: number}|null} source  the token that the sentence says is used most, in the colour of a key
 * @property {Bar[]} bars
 * @property {(line: Line) => string} tone  the colour of a line @property {string[]} signed  the ramp of changes @property {string} lost  the colour of a width that was lost
 * @property {(square: Square) => HTMLCanvasElement|null} picture  a head's weights
 * @property {(square: Square) => {row: number, of: number}|null} rowOf  the row of a head that is the chosen token's
 * @property {(square: Square, n: number) => {key: string, share: string}[]} mostOf  what its row attends to most, and its weight: n keys
 * @property {(attention: string) => boolean} isOfAnswer  of the answering stack
 * @property {(of: Open) => string} headsTitle @property {(attention: string, open: Open|null) => string} headWords  what its squares are: of an open layer, with its name
 * @property {(square: Square) => {delta: number, share: number}|null} effectOf  what the answer loses without it; null: not measured
 * @property {(square: Square, part: {keys: number, queries: number}) => boolean} isFree  whether no weight is in that part of it, at its upper right
 * @property {(stack: string, layer: number) => string} headsOff  which heads of a layer are off, in words; "": none
 * @property {(square: Square) => boolean} isEdited  whether another edit is of it alone
 * @property {(square: Square) => boolean} isOff  whether it is switched off @property {(link: Link) => boolean} isPartOff  the same of what it names
 * @property {string[]} headsSaid  how to read a square, from the longest to the shortest @property {(square: Square) => boolean} isHead  whether it is the open or the previewed one
 * @property {{name: string, text: string, fresh: boolean, final: boolean}[]} lens  after each layer
 * @property {string} lensTitle @property {string} lensHere  before the answer after the one layer that is drawn
 * @property {Line[]|null} preview  one head's weights: all else fades
 * @property {Stage|null} stage  of Watch; null: all is as it is
 * @property {() => Path2D} [path]  of another pen than a canvas's
 * @property {Line|null} hovered @property {Line|null} picked @property {Set<string>} lit  lines that a button would hide @property {Bead|null} bead
 * @property {{band: number, row: number, layer: number}|null} cursor  of the keyboard @property {{band: number, row: number}|null} pointed  the row whose label is under the pointer
 * @property {Open|Link|null} over  the layer or the name of a place that is pointed at
 */

/** @param {Pen} pen @param {Scene} scene @param {PictureStyle} style */
export function drawScene(pen, scene, style) {
  drawStill(pen, scene, style);
  drawMoving(pen, scene, style);
}

/** What does not move while Watch plays, from one layer to the next. @param {Pen} pen @param {Scene} scene @param {PictureStyle} style */
export function drawStill(pen, scene, style) {
  drawOpened(pen, scene, style);
  drawPointed(pen, scene, style);
  scene.bands.forEach((band) => drawGrid(pen, band, scene, style));
  drawHeads(pen, scene, style);
  drawHeadWords(pen, scene, style);
  drawLens(pen, scene, style);
  scene.bands.forEach((band, i) => {
    const names = (!i && !band.wrote && style.writtenLabels) || style.names[i];
    const used = style.source?.stack === i ? style.source.key : null;
    drawLabels(pen, band, { names, wrote: i ? [] : style.wrote, used, pointed: pointedIn(band, i, style) }, style);
  });
}

/** The rows whose names are asked for: by the pointer, the keyboard, or a line. @param {Band} band @param {number} i @param {PictureStyle} style */
function pointedIn({ rows, index }, i, { pointed, cursor, hovered, picked }) {
  const places = [pointed, cursor].flatMap((one) => (one?.band === i ? [rows[one.row]] : []));
  const ends = [hovered, picked].flatMap((line) => [
    ...(line?.from === i ? [rows[index[line.key]]] : []),
    ...(line?.to === i ? [rows[index[line.query]]] : []),
  ]);
  return [...places, ...ends];
}

/** @param {Pen} pen @param {Scene} scene @param {PictureStyle} style */
export function drawMoving(pen, scene, style) {
  if (scene.strip) drawLayerStrip(pen, scene.strip, scene, style);
  drawRivers(pen, scene, style);
  const { chosen } = scene;
  if (chosen) stroke(pen, style.colours.q, Math.max(2, chosen.width), () => bend(pen, chosen));
  for (const line of style.preview ?? [])
    stroke(pen, style.colours.accent, Math.max(0.8, line.width), () => bend(pen, line), 0.9);
  for (const band of scene.bands) drawTitles(pen, band, scene, style);
  if (!scene.squares.length) for (const band of scene.bands) drawOff(pen, band, scene.lit, style);
  drawLinks(pen, scene, style);
  if (style.bead) drawBead(pen, style.bead, style);
  drawAnswers(pen, scene, style);
  if (style.cursor) drawCursor(pen, scene, style.cursor, style);
}

/** Hairlines between layers, a line for each row. @param {Pen} pen @param {Band} band @param {Scene} scene @param {PictureStyle} style */
function drawGrid(pen, band, { bands, height, only, lit, lens, squares }, style) {
  const { columns, rows, titles, bottom, end } = band;
  if (rows[0].height === 0) return; // not drawn on this phone now
  if (lit?.stack === band.stack)
    drawLit(pen, columns[lit.layer], { top: titles - 12 * style.type, bottom: bottom + 3 }, style);
  const [first, last] = [columns[0], columns[columns.length - 1]];
  const floor = bands.length > 1 || only !== null ? bottom + 4 : squares.length ? lens + 8 : height;
  const xs = new Set([...columns.map(({ x0 }) => x0), last.x1]);
  stroke(pen, style.colours.hair, 1, () => {
    for (const x of xs) line(pen, crisp(x), titles - 10 * style.type, crisp(x), floor);
  });
  stroke(pen, style.colours.line, rows[0].height < 12 ? 0.5 * finenessOf(band) : 1, () => {
    for (const { y } of rows) line(pen, first.x0 - 6, crisp(y), end, crisp(y));
  });
}

/** The names of the layers. @param {Pen} pen @param {Band} band @param {Scene} scene @param {PictureStyle} style */
function drawTitles(pen, band, { only, bands, lit, links }, style) {
  const { columns, rows, titles: y } = band;
  if (rows[0].height === 0) return;
  columns.forEach(({ x0, x1 }, layer) => {
    if (x0 === x1) return;
    const on = lit?.stack === band.stack && lit.layer === layer;
    write(pen, style, { size: 13, colour: on ? style.colours.accent : style.colours.dim, bold: on });
    const within = links.filter(
      (link) => link.stack === band.stack && link.layer === layer && link.x <= x1 && link.right && link.x > x0,
    );
    const left = Math.min(x1, ...within.map((link) => link.x - link.width)); // of the places in its layer
    // On a phone, lines from another stack cross the column: its title begins over the labels.
    const crossed = only !== null && band === bands[0] && bands.length > 1;
    const texts = [only && !crossed ? style.counted(band, layer) : "", style.title(band, layer, false)];
    const whole = texts.find((text) => text && (crossed || pen.measureText(text).width + 10 <= left - x0));
    const text = whole ?? style.title(band, layer, true);
    const tight = pen.measureText(text).width + 14 > left - x0;
    const x = crossed ? 2 : x0 + (whole && !tight ? 8 : 4);
    if (isOver(style.over, { stack: band.stack, layer })) underlined(pen, text, x, y, style.colours.accent);
    pen.fillText(text, x, y);
  });
  const [from, to] = [columns[columns.length - 1].x1, bands[0].columns[0].x0];
  write(pen, style, { size: 12, colour: style.colours.dim });
  if (band !== bands[0] && only === null && pen.measureText(style.passed).width + 12 <= to - from)
    pen.fillText(style.passed, from + 8, y);
}

/** Under the name of a layer, which of its heads are off: their squares are not in sight. @param {Pen} pen @param {Band} band @param {Scene["lit"]} lit @param {PictureStyle} style */
function drawOff(pen, band, lit, style) {
  if (band.rows[0].height === 0) return;
  band.columns.forEach(({ x0, x1 }, layer) => {
    const text = style.headsOff(band.stack, layer);
    write(pen, style, { size: 12, colour: style.colours.q, bold: true });
    if (!text || pen.measureText(text).width + 12 > x1 - x0) return;
    const [x, y] = [x0 + 8, band.titles + 17 * style.type];
    pen.lineJoin = "round";
    pen.lineWidth = 4;
    const isLit = lit?.stack === band.stack && lit.layer === layer;
    pen.strokeStyle = isLit ? style.colours.soft : style.colours.ground;
    pen.strokeText(text, x, y);
    pen.fillText(text, x, y);
  });
}

/** Whether the pointer is at the name of a layer, or at that of a place. @param {PictureStyle["over"]} over @param {Open|Link} of */
const isOver = (over, of) =>
  over !== null &&
  over.stack === of.stack &&
  over.layer === of.layer &&
  ("to" in over ? over.to : null) === ("to" in of ? of.to : null);

/** The layer of the open place, from its title to its last row. @param {Pen} pen @param {{x0: number, x1: number}} column @param {{top: number, bottom: number}} rows @param {PictureStyle} style */
function drawLit(pen, { x0, x1 }, { top, bottom }, { colours }) {
  pen.fillStyle = colours.soft;
  pen.beginPath();
  pen.roundRect(x0, top, x1 - x0, bottom - top, 6);
  pen.fill();
}

/** How strong the colour of a layer is that a click would open: paler than that of an open one. */
const POINTED = 0.5;

/** The column of a layer that is pointed at. @param {Pen} pen @param {Scene} scene @param {PictureStyle} style */
function drawPointed(pen, { bands, lens, only }, style) {
  const { over, type } = style;
  const band = over && !("to" in over) && only === null && bands.find(({ stack }) => stack === over.stack);
  if (!band) return;
  const below = band === bands[0] && lens > band.bottom ? lens + 8 : band.bottom + 3;
  pen.globalAlpha = POINTED;
  drawLit(pen, band.columns[over.layer], { top: band.titles - 12 * type, bottom: below }, style);
  pen.globalAlpha = 1;
}

/** The words of the places. @param {Pen} pen @param {Scene} scene @param {PictureStyle} style */
function drawLinks(pen, { links, lit }, style) {
  for (const link of links) {
    const { to, stack, layer, x, y, right, width } = link;
    if (to === "lens") continue; // named where the guesses are
    const inLit = lit?.stack === stack && lit.layer === layer;
    const here = style.place === to && (lit === null || inLit);
    write(pen, style, {
      size: 12,
      colour: here ? style.colours.accent : style.colours.dim,
      align: right ? "right" : "left",
      bold: here,
    });
    if (isOver(style.over, link)) underlined(pen, style.placeName(to), x, y, style.colours.accent);
    pen.fillText(style.placeName(to), x, y);
    if ((to !== "head" && to !== "ffn") || !style.isPartOff(link)) continue;
    stroke(pen, style.colours.cut, 2, () => line(pen, x - width - 2, y - 4, x + 2, y - 4));
  }
}

/** @param {Pen} pen @param {Bead} bead @param {PictureStyle} style */
function drawBead(pen, { x, y, radius }, { colours }) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fillStyle = colours.dim;
  pen.fill();
  pen.lineWidth = 1.5;
  pen.strokeStyle = colours.ground;
  pen.stroke();
}

/** The keyboard's place: one token in one layer. @param {Pen} pen @param {Scene} scene @param {NonNullable<PictureStyle["cursor"]>} cursor @param {PictureStyle} style */
function drawCursor(pen, { bands }, { band, row, layer }, { colours }) {
  const { rows, columns } = bands[band];
  const [{ y, height }, { x0, x1 }] = [rows[row], columns[layer]];
  pen.strokeStyle = colours.accent;
  pen.lineWidth = 2.5;
  pen.beginPath();
  pen.roundRect(x0 + 1.5, y - Math.max(8, height / 2), x1 - x0 - 3, Math.max(16, height), 5);
  pen.stroke();
}

/** @param {Pen} pen @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
function line(pen, x0, y0, x1, y1) {
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
}

/** Between two pixels, where a line of one pixel is sharp. @param {number} at */
const crisp = (at) => Math.round(at) + 0.5;
