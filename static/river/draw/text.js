/** Text on the canvas. */

import { cutToWidth } from "../../model/labels.js";

/** @import { Look, Pen } from "./scene.js" */

/** Sets size, colour and alignment of what is written next. @param {Pen} pen @param {Look} look @param {{size: number, colour: string, align?: CanvasTextAlign, bold?: boolean}} style */
export function write(pen, { font, type }, { size, colour, align = "left", bold = false }) {
  pen.font = `${bold ? 700 : 500} ${size * type}px ${font}`;
  pen.textAlign = align;
  pen.fillStyle = colour;
}

/** As much of a text as fits a width. @param {Pen} pen @param {string} text @param {number} width */
export function fitting(pen, text, width) {
  return cutToWidth(text, width, (one) => pen.measureText(one).width);
}
