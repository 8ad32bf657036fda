/** The heads on the picture: squares of weights. */

import { headTable, paintHead } from "../../chart/matrix/sheet.js";
import { LABEL_GAP } from "../layout/bands.js";
import { BAR_BELOW, bottomOf } from "../layout/heads.js";
import { textSize } from "../style.js";
import { fillName, write } from "./text.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { HeadsChange } from "../../model/compare/compare.js"
 * @import { Square } from "../layout/heads.js"
 * @import { Band, Scene } from "../layout/layout.js"
 * @import { PictureStyle, Pen } from "./scene.js"
 */

/** The small pictures of a trace, each painted once; canvases are used again. @returns {(trace: ModelTrace, square: Square, theme: string, dpr: number, change: HeadsChange|null) => HTMLCanvasElement|null} */
export function createPictures() {
  let of = "";
  let table = headTable(null);
  /** @type {Map<string, {of: string, canvas: HTMLCanvasElement}>} */
  const painted = new Map();
  return (trace, { attention, layer, head, width, height }, theme, dpr, change) => {
    const now = `${trace.key} ${theme} ${dpr} ${change}`;
    if (of !== now) table = headTable(change);
    of = now;
    const weights = trace.picture(layer, head, attention);
    if (!weights) return null;
    const before = change === "changed" ? trace.pictureBefore?.(layer, head, attention) : null;
    const mask = trace.mask(layer, head, attention);
    const name = `${attention} ${layer} ${head}`;
    const one = painted.get(name) ?? { of: "", canvas: document.createElement("canvas") };
    painted.set(name, one);
    if (one.of !== `${now} ${width}`) paintHead(one.canvas, weights, mask, table, [width * dpr, height * dpr], before);
    one.of = `${now} ${width}`;
    return one.canvas;
  };
}

/**
 * Every head; a red tick marks the chosen row, a red frame an edit.
 * @param {Pen} pen @param {Scene} scene @param {PictureStyle} style
 */
export function drawHeads(pen, { squares, more, bands, opened }, style) {
  const { colours } = style;
  const [{ end }] = bands;
  pen.imageSmoothingEnabled = false;
  drawDividers(pen, bands, squares, colours.hair);
  const within = haveNumbersWithin(pen, squares, style);
  for (const square of squares) {
    const image = style.picture(square);
    const { x, y, width, height } = square;
    const row = style.rowOf(square);
    if (opened) fillGround(pen, square, colours.ground);
    if (image) {
      const lit = !style.stage || x + width <= style.stage.flow * end;
      const off = style.isOff(square);
      pen.globalAlpha = off ? 0.22 : lit ? 1 : 0.3; // the streams have not come so far
      pen.drawImage(image, x, y, width, height);
      pen.globalAlpha = 1;
      if (off) strike(pen, square, colours.q);
      if (row && lit) tickRow(pen, square, row, colours.q);
    }
    const [on, edited] = [style.isHead(square), style.isEdited(square)];
    pen.strokeStyle = on ? colours.accent : edited ? colours.q : colours.hair;
    pen.lineWidth = on ? 2.5 : edited ? 2 : 1;
    pen.strokeRect(x - 0.5, y - 0.5, width + 1, height + 1);
    drawEffect(pen, square, style);
    if (square.numbered) drawNumber(pen, square, style);
    else if (square.caption > BAR_BELOW) drawCaption(pen, square, style);
    else if (within) drawNumberWithin(pen, square, style);
  }
  write(pen, style, { size: 12, colour: colours.dim, align: "center" });
  for (const { x, y, n } of more) pen.fillText(`+${n}`, x, y);
}

/** Around an open layer's heads, and over the first line of what is said over them; and how strong the colour below all is. */
const [AROUND, SAID_OVER, STRENGTH] = [8, 16, 0.6];

/** Below a layer that is open and its heads, which are wider: one colour, so that they are seen to belong together. @param {Pen} pen @param {Scene} scene @param {PictureStyle} style */
export function drawOpened(pen, { bands, squares, said, opened }, { colours, type }) {
  const band = bands.find(({ stack }) => stack === opened?.stack);
  if (!opened || !band) return;
  const column = band.columns[opened.layer];
  const first = Math.min(...squares.map(({ y }) => y));
  const top = said && said.y < first ? said.y - SAID_OVER * type : first - AROUND;
  const left = Math.min(column.x0, ...squares.map(({ x }) => x - AROUND));
  const right = Math.max(column.x1, ...squares.map(({ x, width, room }) => x + Math.max(width, room) + AROUND));
  const above = band.titles - 12 * type;
  pen.fillStyle = colours.soft;
  pen.globalAlpha = STRENGTH;
  pen.beginPath();
  pen.roundRect(column.x0, above, column.x1 - column.x0, top + AROUND - above, 6);
  pen.roundRect(left, top, right - left, Math.max(...squares.map(bottomOf)) + AROUND - top, 6);
  pen.fill();
  pen.globalAlpha = 1;
}

/** A square lets the colour of an open layer through. @param {Pen} pen @param {Square} square @param {string} ground */
function fillGround(pen, { x, y, width, height }, ground) {
  pen.fillStyle = ground;
  pen.fillRect(x, y, width, height);
}

/** Between the squares of two layers. @param {Pen} pen @param {Band[]} bands @param {Square[]} squares @param {string} colour */
function drawDividers(pen, bands, squares, colour) {
  const beside = squares.filter(({ caption }) => caption <= BAR_BELOW);
  if (!beside.length || bands.length > 1) return; // of two stacks, names stand between them
  const [top, bottom] = [Math.min(...beside.map(({ y }) => y)), Math.max(...beside.map(bottomOf))];
  pen.fillStyle = colour;
  for (const { x0 } of bands[0].columns.slice(1)) pen.fillRect(Math.round(x0), top, 1, bottom - top);
}

/** The thickness of a bar, and its distance from its square; the height of a number. */
const [BAR, APART, NUMBER] = [4, 3, 14];

/** A bar that is shorter than this part of the longest says nothing. */
const LEAST_SHARE = 0.02;

/** What the answer loses without a head, and in the other colour what it gains: as a bar that rises at its right edge; above a caption, below it. @param {Pen} pen @param {Square} square @param {PictureStyle} style */
function drawEffect(pen, square, { effectOf, colours, type }) {
  const effect = effectOf(square);
  if (!effect || effect.share < LEAST_SHARE) return;
  const { x, y, width, height, caption, numbered, over } = square;
  pen.fillStyle = effect.delta < 0 ? colours.minus : colours.accent;
  if (caption) return pen.fillRect(x, y + height + 2, width * effect.share, 3);
  const long = (height - (numbered && !over ? NUMBER * type : 0)) * effect.share;
  pen.fillRect(x + width + APART, y + height - long, BAR, long);
}

/** To the right of its picture, or over it. @param {Pen} pen @param {Square} square @param {PictureStyle} style */
function drawNumber(pen, square, style) {
  const { layer, head, x, y, width, over } = square;
  write(pen, style, { size: 11, colour: style.isHead(square) ? style.colours.accent : style.colours.dim });
  pen.fillText(`${layer}·${head}`, over ? x : x + width + 4, y + (over ? -4 : 9) * style.type);
}

/** The height of a number within its square, and what is beside it. */
const [WITHIN, ASIDE] = [9, 1];

/** A number in the upper corner of its square, where no weight stands: under a causal mask; null: there is no room. @param {Pen} pen @param {Square} square @param {PictureStyle} style */
function numberWithin(pen, square, style) {
  const { layer, head, width, height } = square;
  const text = `${layer}·${head}`;
  write(pen, style, { size: 11, colour: style.isHead(square) ? style.colours.accent : style.colours.dim });
  const wide = pen.measureText(text).width;
  const part = { keys: (wide + 2 * ASIDE) / width, queries: (WITHIN * style.type) / height };
  return style.isFree(square, part) ? { text, left: width - ASIDE - wide } : null;
}

/** All have them, or none. @param {Pen} pen @param {Square[]} squares @param {PictureStyle} style */
const haveNumbersWithin = (pen, squares, style) =>
  squares.every((one) => !one.numbered && one.caption <= BAR_BELOW && numberWithin(pen, one, style));

/** @param {Pen} pen @param {Square} square @param {PictureStyle} style */
function drawNumberWithin(pen, square, style) {
  const number = numberWithin(pen, square, style);
  if (number) pen.fillText(number.text, square.x + number.left, square.y + WITHIN * style.type);
}

/** In less width there is a head's name only. */
const NARROW = 72;

/** A head's name, and what its row attends to most: one key, or as many as there is room for. @param {Pen} pen @param {Square} square @param {PictureStyle} style */
function drawCaption(pen, square, style) {
  const { layer, head, x, y, room, height } = square;
  const { colours, type } = style;
  write(pen, style, { size: 12, colour: style.isHead(square) ? colours.accent : colours.ink, bold: true });
  pen.fillText(`${layer}·${head}`, x, y + height + 18 * type);
  if (room < NARROW * type) return;
  style.mostOf(square, square.lines ?? 1).forEach((most, i) => {
    const share = ` ${most.share}`;
    write(pen, style, { size: 12, colour: colours.bar });
    const line = y + height + (32 + 16 * i) * type;
    const at = { x, y: line, size: textSize(style, 12), room: room - pen.measureText(share).width };
    const end = x + fillName(pen, most.key, at);
    write(pen, style, { size: 12, colour: colours.dim });
    pen.fillText(share, end, line);
  });
}

/** The texts that say what the squares are: in the column of labels and in a sentence; above the squares if they have the whole width. @param {Pen} pen @param {Scene} scene @param {PictureStyle} style */
export function drawHeadWords(pen, scene, style) {
  const { bands, squares, only, ranks, opened, said } = scene;
  for (const stack of new Set(squares.map((one) => one.stack))) {
    const own = squares.filter((one) => one.stack === stack);
    const top = Math.min(...own.map(({ y }) => y));
    const named = own[0].numbered || own[0].caption > BAR_BELOW || haveNumbersWithin(pen, squares, style);
    write(pen, style, { size: 13, colour: style.colours.dim, align: only === null ? "right" : "left" });
    if (only !== null) return pen.fillText(style.headsTitle(only), 2, top - ranks - 8);
    const alone = own.length === squares.length; // at the left edge
    const band = bands.find((one) => (alone ? one === bands[bands.length - 1] : one.stack === stack));
    const x = /** @type {Band} */ (band).columns[0].x0 - LABEL_GAP;
    const left = alone || stack !== bands[0].stack ? 0 : Math.max(0, ...bands.slice(1).map(endOf)); // another stack's heads
    const taken = named || scene.more.length ? 0 : drawRowNumbers(pen, own, x, style);
    const words = style.headWords(own[0].attention, opened).split("\n");
    const lines = words.flatMap((one) => wrapped(pen, one, Math.min(x - taken - left - 4, 110)));
    lines.forEach((line, i) => {
      const end = Math.max(x - taken, pen.measureText(line).width + 1); // a long word is nearer to the number, not cut by the edge
      pen.fillText(line, end, top + (11 + i * 17) * style.type);
    });
  }
  if (!said) return;
  write(pen, style, { size: 13, colour: style.colours.dim });
  const texts = style.headsSaid.map((text) => wrapped(pen, text, said.width));
  const lines = texts.find(({ length }) => length <= said.lines) ?? texts[texts.length - 1];
  lines.forEach((line, i) => pen.fillText(line, said.x, said.y + i * 17 * style.type));
}

/** Where the last layer of a stack ends. @param {Band} band */
const endOf = ({ columns }) => columns[columns.length - 1].x1;

/** The numbers of the heads in each row of squares that have no room for them; returns their width. @param {Pen} pen @param {Square[]} squares @param {number} right @param {PictureStyle} style */
function drawRowNumbers(pen, squares, right, style) {
  const first = squares.filter(({ layer }) => layer === squares[0].layer);
  const widths = [...new Set(first.map(({ y }) => y))].map((y) => {
    const heads = first.filter((one) => one.y === y).map(({ head }) => head);
    const text = heads.length < 3 ? heads.join(", ") : `${heads[0]}–${heads[heads.length - 1]}`;
    pen.fillText(text, right, y + 11 * style.type);
    return pen.measureText(text).width;
  });
  return Math.max(...widths) + 6;
}

/** Lines no wider than `width`, broken between words; where a language writes none, between sentences, else between characters, but never before 、 or 。 @param {Pen} pen @param {string} text @param {number} width @returns {string[]} */
function wrapped(pen, text, width) {
  const unspaced = text.match(/[\u3040-\u30ff\u4e00-\u9fff]/g) ?? [];
  const spaced = unspaced.length < text.length / 4; // an English sentence may name a Japanese word
  if (pen.measureText(text).width <= width) return [text];
  const sentences = spaced ? [] : (text.match(/[^。]+。?/gu) ?? []);
  const parts = sentences.length > 1 ? sentences.flatMap((one) => wrapped(pen, one, width)) : text.match(/.[、。]*/gu);
  /** @type {string[]} */
  const lines = [];
  for (const piece of spaced ? text.split(" ") : (parts ?? [])) {
    const longer = lines.length ? `${lines[lines.length - 1]}${spaced ? " " : ""}${piece}` : piece;
    if (lines.length && pen.measureText(longer).width <= width) lines[lines.length - 1] = longer;
    else lines.push(piece);
  }
  return lines;
}

/** Over a head that is off. @param {Pen} pen @param {Square} square @param {string} red */
function strike(pen, { x, y, width, height }, red) {
  pen.strokeStyle = red;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(x + 4, y + height - 4);
  pen.lineTo(x + width - 4, y + 4);
  pen.stroke();
}

/** A red tick before the chosen row of a head. @param {Pen} pen @param {Square} square @param {{row: number, of: number}} at @param {string} red */
function tickRow(pen, { x, y, height }, { row, of }, red) {
  pen.fillStyle = red;
  pen.fillRect(x - 4, y + (row * height) / of, 3, Math.max(2.5, height / of));
}
