/** The labels of rows: tokens, and what they wrote. */

import { shownPhoto } from "../../ui/patch_picture.js";
import { LABEL_GAP } from "../layout/bands.js";
import { wroteText } from "../words/written_tokens.js";
import { fitting, write } from "./text.js";

/**
 * @import { Name } from "../../model/numbered_names.js"
 * @import { Patch } from "../../model/patches.js"
 * @import { Band } from "../layout/layout.js"
 * @import { Look, Pen } from "./scene.js"
 */

/** The size of a row's label, and the smallest that can be read. */
const [LABEL, LEAST] = [15, 12];

/** @param {Pen} pen @param {Band} band @param {{names: Name[], wrote: (string|null)[]}} words @param {Look} look */
export function drawLabels(pen, { rows, labelled, wrote: aside, columns, chosen }, { names, wrote }, look) {
  const right = columns[0].x0 - LABEL_GAP;
  for (const row of rows) {
    if (!labelled.has(row)) continue;
    const y = row.y + 5 * look.type;
    if (row.to - row.from > 1) {
      write(pen, look, { size: 13, colour: look.colours.dim, align: "right" });
      pen.fillText(fitting(pen, look.folded(row.to - row.from), right - 2), right, y);
      continue;
    }
    const size = Math.max(LEAST, Math.min(LABEL, row.height / look.type - 2)); // neighbours do not touch
    drawName(pen, names[row.from], { right: right - aside, y, size }, row.from === chosen, look);
    write(pen, look, { size: 13, colour: look.colours.dim });
    if (aside) pen.fillText(wroteText(wrote[row.from]), right - aside, y);
  }
}

/** A token, numbered where it comes again; red where it is the chosen one. @param {Pen} pen @param {Name} name @param {{right: number, y: number, size: number}} at @param {boolean} on @param {Look} look */
function drawName(pen, { word, nth, patch }, { right, y, size }, on, look) {
  if (patch) return drawPatch(pen, patch, { right, y, size }, on, look);
  const style = { colour: on ? look.colours.q : look.colours.ink, align: /** @type {const} */ ("right"), bold: on };
  let end = right;
  if (nth !== null) {
    write(pen, look, { size: size - 4, ...style });
    pen.fillText(String(nth), end, y + 2);
    end -= pen.measureText(String(nth)).width;
  }
  write(pen, look, { size, ...style });
  pen.fillText(fitting(pen, word, end - 2), end, y);
}

/** A patch as it looks, framed, and its row and column. @param {Pen} pen @param {Patch} patch @param {{right: number, y: number, size: number}} at @param {boolean} on @param {Look} look */
function drawPatch(pen, { shades, row, column, photo }, { right, y, size }, on, look) {
  const { colours, type } = look;
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
  write(pen, look, { size: size - 2, colour: on ? colours.q : colours.dim, align: "right", bold: on });
  pen.fillText(`${row},${column}`, x - 5, y);
}
