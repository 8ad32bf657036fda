/** Text on the canvas: the labels of rows, the answer with its bars, the logit lens. */

import { capOf, cutToWidth } from "../../model/labels.js";
import { shownPhoto } from "../../ui/patch_picture.js";
import { LABEL_GAP, rowsApart } from "../layout/bands.js";
import { NARROW_LAYER } from "../layout/layout.js";
import { LABEL_SIZE, textSize } from "../style.js";
import { WROTE } from "../words/names.js";

/**
 * @import { Name } from "../../model/labels.js"
 * @import { Patch } from "../../model/patches.js"
 * @import { Bar } from "../words/names.js"
 * @import { Row } from "../layout/bands.js"
 * @import { Band, Scene } from "../layout/layout.js"
 * @import { Pen, PictureStyle } from "./scene.js"
 */

/** What is written next can be clicked. @param {Pen} pen @param {string} text @param {number} x @param {number} y @param {string} colour */
export function underlined(pen, text, x, y, colour) {
  const { width } = pen.measureText(text);
  pen.fillStyle = colour;
  pen.fillRect(pen.textAlign === "right" ? x - width : x, y + 3, width, 1.5);
}

/** Sets size, colour and alignment of what is written next. @param {Pen} pen @param {PictureStyle} style @param {{size: number, colour: string, align?: CanvasTextAlign, bold?: boolean}} face */
export function write(pen, style, { size, colour, align = "left", bold = false }) {
  pen.font = `${bold ? 700 : 500} ${textSize(style, size)}px ${style.font}`;
  pen.textAlign = align;
  pen.fillStyle = colour;
}

/** As much of a text as fits a width. @param {Pen} pen @param {string} text @param {number} width */
function fittingText(pen, text, width) {
  return cutToWidth(text, width, (one) => pen.measureText(one).width);
}

/** Where names are smaller, or rows nearer, a mark is in quotes: its box would touch its neighbours. */
const [CAPPED, APART] = [12, 16];

/** A name that ends or begins at x; of a punctuation mark its key cap, as in the page's texts (ui/token_text.js). @param {Pen} pen @param {string} name @param {{x: number, y: number, size: number, room?: number, boxed?: boolean}} at  size: in pixels @returns {number} its width */
export function fillName(pen, name, { x, y, size, room = Number.POSITIVE_INFINITY, boxed = size >= CAPPED }) {
  const cap = boxed ? capOf(name) : null;
  if (!cap) {
    const text = fittingText(pen, name, room);
    pen.fillText(text, x, y);
    return pen.measureText(text).width;
  }
  const ends = pen.textAlign === "right";
  const width = Math.max(size * 1.1, pen.measureText(cap.mark).width + size * 0.5);
  const nth = cap.nth ? pen.measureText(cap.nth).width + 1 : 0;
  const left = ends ? x - width - nth : x;
  pen.textAlign = "center";
  pen.fillText(cap.mark, left + width / 2, y);
  pen.textAlign = "left";
  if (nth) pen.fillText(cap.nth, left + width + 1, y);
  pen.textAlign = ends ? "right" : "left";
  pen.strokeStyle = pen.fillStyle;
  pen.lineWidth = 1;
  pen.globalAlpha = 0.45;
  pen.strokeRect(left + 0.5, y - size * 0.8, width - 1, size * 0.94);
  pen.globalAlpha = 1;
  return width + nth;
}

// What the model would say after each layer, below its column.

/** It leads to all rows. @param {Pen} pen @param {{x: number, y: number}} at @param {PictureStyle} style */
function drawLensTitle(pen, { x, y }, { over, lensTitle, colours }) {
  const pointed = over !== null && "to" in over && over.to === "lens";
  if (pointed) underlined(pen, lensTitle, x, y, colours.accent);
  pen.fillText(lensTitle, x, y);
}

/** After the one layer that is drawn: title and answer in one line. @param {Pen} pen @param {number} layer @param {{y: number, arrived: boolean}} at @param {PictureStyle} style */
function drawLensOf(pen, layer, { y, arrived }, style) {
  const { name, text, final } = style.lens[layer];
  write(pen, style, { size: 13, colour: style.colours.dim });
  pen.fillText(style.lensHere, 2, y);
  const x = 2 + pen.measureText(style.lensHere).width;
  if (!arrived) return; // the streams have not come so far
  write(pen, style, { size: 15, colour: final ? style.colours.bar : style.colours.dim });
  const named = fillName(pen, name, { x, y, size: textSize(style, 15) });
  pen.fillText(` ${text}`, x + named, y);
}

/** What the model would say if it stopped after each layer, in the colour of the answer once it is that. @param {Pen} pen @param {Scene} scene @param {PictureStyle} style */
export function drawLens(pen, { bands: [band], lens, only }, style) {
  if (!style.lens.length || Number.isNaN(lens)) return; // a strip has none
  const { colours } = style;
  const widest = Math.max(...band.columns.map(({ x0, x1 }) => x1 - x0));
  if (widest === 0) return; // another stack's layer is drawn alone
  const narrow = widest < NARROW_LAYER * style.type;
  if (only) return drawLensOf(pen, only.layer, { y: lens, arrived: !style.stage || style.stage.flow === 1 }, style);
  write(pen, style, { size: 13, colour: colours.dim, align: "right" });
  if (!narrow) drawLensTitle(pen, { x: band.columns[0].x0 - LABEL_GAP, y: lens }, style);
  let end = Infinity; // where the word to the right begins
  [...style.lens.entries()].reverse().forEach(([layer, { name, text, fresh, final }]) => {
    if (narrow && !fresh && layer < style.lens.length - 1) return;
    const { x0, x1 } = band.columns[layer];
    if (x0 === x1) return;
    if (style.stage && x1 > style.stage.flow * band.end + 1) return;
    write(pen, style, { size: 15, colour: final ? colours.bar : colours.dim, align: "right" });
    const room = (narrow ? 2 : 1) * (x1 - x0) - (narrow ? 2 : 10);
    const numbered = [`${name}: ${text}`, /\d$/.test(name) ? name : `${name} ${text}`]; // "8 42 %" would be misread
    const words = [...(narrow ? [] : numbered), name].find((one) => pen.measureText(one).width <= room);
    const right = x1 - (narrow ? 0 : 6);
    if (!words || right > end) return;
    const rest = words.slice(name.length); // its number
    pen.fillText(rest, right, lens);
    const before = right - pen.measureText(rest).width;
    end = before - fillName(pen, name, { x: before, y: lens, size: textSize(style, 15) }) - 4;
  });
}

// The answer, with a bar for each probability.

/** A column that is no wider than this has room for what a number was before only beside a short name, which may be a bit smaller. */
const [CHANGES, SMALLER] = [100, 0.8];

/** How high a bar is: under its name; and where names stand in lines, between name and number, or where that is too narrow, right under the line. */
const [THICK, MIDDLE, THIN] = [8, 6, 3];

/** How far below the top of its line: under a name, in the middle of the line, and right under it. */
const [UNDER, AMID, CLOSE] = [18, 7, 16];

/** From where to where a bar lies between name and number, as parts of the width: an edit, whose numbers are longer, changes no scale. */
const BETWEEN = [0.33, 0.55];

/** The answer's probabilities, in another tone than the shares. @param {Pen} pen @param {Scene} scene @param {PictureStyle} style */
export function drawAnswers(pen, { bands: [{ rows }], node, answers: { x, y, width, step, inLine } }, style) {
  const { colours, bars, stage } = style;
  const grown = stage?.answer ?? 1;
  if (!bars.length || grown === 0) return;
  pen.fillStyle = colours.bar;
  pen.beginPath();
  pen.arc(node.x, node.y, 6, 0, 2 * Math.PI);
  if (rows[0].height > 0) pen.fill(); // its rows are drawn
  const narrow = width <= CHANGES * style.type;
  const [high, below] = !inLine ? [THICK, UNDER] : narrow ? [THIN, CLOSE] : [MIDDLE, AMID];
  const [begin, end] = inLine && !narrow ? BETWEEN : [0, 1];
  const [left, long] = [x + begin * width, (end - begin) * width];
  bars.forEach(({ name, p, text: now, change, points, before, rest, signed }, i) => {
    const top = y + i * step;
    const face = { colour: rest ? colours.dim : colours.ink, bold: i === 0 };
    const full = rest || inLine ? 13 : 15;
    write(pen, style, { size: full, ...face });
    const least = SMALLER * pen.measureText(name).width;
    write(pen, style, { size: 13, colour: colours.dim, align: "right" });
    const roomBeside = (/** @type {string} */ number) => width - pen.measureText(number).width - 6;
    const text = (narrow && signed ? points : (!narrow || (change && roomBeside(change) >= least)) && change) || now;
    if (grown === 1) pen.fillText(text, x + width, top + 14 * style.type);
    const room = begin ? begin * width - 6 : roomBeside(text);
    write(pen, style, { size: full, ...face });
    // The first one and that of all others are never cut.
    if (i === 0 || rest)
      write(pen, style, { size: full * Math.min(1, Math.max(0.6, room / pen.measureText(name).width)), ...face });
    fillName(pen, name, { x, y: top + 14 * style.type, size: textSize(style, full), room });
    const line = top + below * style.type;
    /** @param {number} from @param {number} to @param {string} colour @param {number} alpha */
    const bar = (from, to, colour, alpha) => {
      pen.globalAlpha = alpha;
      pen.fillStyle = colour;
      pen.beginPath();
      pen.roundRect(left + from * long, line, Math.max(2, (to - from) * grown * long), high, 2);
      pen.fill();
      pen.globalAlpha = 1;
    };
    if (signed) {
      const was = before ?? 0;
      bar(0, Math.min(p, was), colours.bar, 0.3);
      // What was lost or gained, in the colours of every difference.
      if (Math.abs(p - was) >= 0.0005)
        bar(Math.min(p, was), Math.max(p, was), p < was ? colours.minus : colours.accent, 1);
      return;
    }
    bar(0, p, colours.bar, rest ? 0.4 : 1);
    if (before === null || stage || Math.abs(before - p) < 0.002) return;
    pen.setLineDash([2, 2]);
    pen.strokeStyle = colours.bar;
    pen.lineWidth = 1;
    pen.strokeRect(left + 0.5, line + 0.5, Math.max(2, before * long) - 1, high - 1);
    pen.setLineDash([]);
  });
}

// The labels of rows: tokens, and what they wrote.

/** The smallest label that can be read; one where rows have the height for it, and where only some have theirs. */
const [LEAST, USUAL] = [11, 12];

/** How much of its row's height a label is: neighbours have air between them. */
const OF_ROW = 0.8;

/** How far the number of a token stands below it: on a projector, where it is as large as the token; and of a small name, which would touch the next one. */
const [NTH_BELOW, NTH, NTH_SMALL] = [7, 2, 1];

/** @param {Pen} pen @param {Band} band @param {{names: Name[], wrote: string[], used: number|null, pointed: Row[]}} words  `used`: the token that is named as a key; `pointed`: rows that have their names in any case @param {PictureStyle} style */
export function drawLabels(pen, band, { names, wrote, used, pointed }, style) {
  const { rows, wrote: aside, columns, chosen } = band;
  const labelled = rowsApart([...pointed, ...band.labelled], band.apart);
  const edge = columns[0].x0 - LABEL_GAP;
  const thinned = labelled.size < rows.length;
  for (const row of labelled) {
    const y = row.y + 5 * style.type;
    if (row.to - row.from > 1) {
      write(pen, style, { size: 13, colour: style.colours.dim, align: "right" });
      pen.fillText(fittingText(pen, style.folded(row.to - row.from), edge - 2), edge, y);
      continue;
    }
    const on = row.from === chosen;
    const chosenHere = on && !aside ? style.colours.q : null; // else the word that it wrote is the chosen one
    const marked = chosenHere ?? (row.from === used ? style.colours.bar : null);
    const high = row.height / style.type;
    const least = thinned ? USUAL : high < LEAST ? high - 0.5 : Math.min(USUAL, Math.floor(high)); // neighbours do not touch
    const size = Math.max(least, Math.min(LABEL_SIZE, high * OF_ROW));
    const boxed = high >= APART;
    drawName(pen, names[row.from], { right: edge - aside, y, size, boxed }, marked, style);
    if (aside)
      drawWrote(pen, wrote[row.from], { x: edge - aside, y, size: Math.min(13, size), width: aside }, on, style);
  }
}

/** An arrow, and the word that a row wrote: red if it is the chosen one. @param {Pen} pen @param {string} word @param {{x: number, y: number, size: number, width: number}} at @param {boolean} on @param {PictureStyle} style */
function drawWrote(pen, word, { x, y, size, width }, on, style) {
  write(pen, style, { size, colour: style.colours.dim });
  pen.fillText(WROTE, x, y);
  const arrow = pen.measureText(WROTE).width;
  write(pen, style, { size, colour: on ? style.colours.q : style.colours.dim, bold: on });
  fillName(pen, word, { x: x + arrow, y, size: textSize(style, size), room: width - arrow });
}

/** A token, numbered if it occurs several times; red if it is the chosen one. @param {Pen} pen @param {Name} name @param {{right: number, y: number, size: number, boxed: boolean}} at  `boxed`: a mark has its key cap @param {string|null} marked  its colour, if it has one @param {PictureStyle} style */
function drawName(pen, { word, nth, patch }, { right, y, size, boxed }, marked, style) {
  if (patch) return drawPatch(pen, patch, { right, y, size }, marked !== null, style);
  const face = { colour: marked ?? style.colours.ink, align: /** @type {const} */ ("right"), bold: marked !== null };
  let end = right;
  if (nth !== null) {
    write(pen, style, { size: size - 4, ...face });
    pen.fillText(String(nth), end, y + (style.least ? NTH_BELOW : size < CAPPED ? NTH_SMALL : NTH));
    end -= pen.measureText(String(nth)).width;
  }
  write(pen, style, { size, ...face });
  fillName(pen, word, { x: end, y, size: textSize(style, size), room: end - 2, boxed });
}

/** A patch in a frame, and its row and column. @param {Pen} pen @param {Patch} patch @param {{right: number, y: number, size: number}} at @param {boolean} on @param {PictureStyle} style */
function drawPatch(pen, { shades, row, column, photo }, { right, y, size }, on, style) {
  const { colours, type } = style;
  const side = (size + 2) * type;
  const [x, top, n] = [right - side, y + 3 * type - side, Math.sqrt(shades.length)];
  if (photo) {
    const { patch } = photo;
    pen.drawImage(shownPhoto(photo).canvas, column * patch, row * patch, patch, patch, x, top, side, side);
  }
  shades.forEach((shade, i) => {
    pen.globalAlpha = shade;
    pen.fillStyle = colours.ink;
    pen.fillRect(x + (i % n) * (side / n), top + Math.floor(i / n) * (side / n), side / n, side / n);
  });
  pen.globalAlpha = 1;
  pen.strokeStyle = on ? colours.q : colours.hair;
  pen.lineWidth = on ? 2 : 1;
  pen.strokeRect(x, top, side, side);
  write(pen, style, { size: size - 2, colour: on ? colours.q : colours.dim, align: "right", bold: on });
  pen.fillText(`${row},${column}`, x - 5, y);
}
