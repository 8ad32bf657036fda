/** The answer, with a bar for each probability. */

import { fitting, write } from "./text.js";

/**
 * @import { Scene } from "../layout/layout.js"
 * @import { Look, Pen } from "./scene.js"
 */

/** The answer's probabilities, in another tone than the shares. @param {Pen} pen @param {Scene} scene @param {Look} look */
export function drawAnswers(pen, { bands: [{ rows }], node, answers: { x, y, width, step } }, look) {
  const { colours, bars, stage } = look;
  const grown = stage?.answer ?? 1;
  if (!bars.length || grown === 0) return;
  pen.fillStyle = colours.bar;
  pen.beginPath();
  pen.arc(node.x, node.y, 6, 0, 2 * Math.PI);
  if (rows[0].height > 0) pen.fill(); // its rows are drawn
  bars.forEach(({ name, p, text, before, rest }, i) => {
    const top = y + i * step;
    write(pen, look, { size: 13, colour: colours.dim, align: "right" });
    const numbered = i === 0 || width > 120 * look.type;
    if (numbered && grown === 1) pen.fillText(text, x + width, top + 14 * look.type);
    const room = width - (numbered ? pen.measureText(text).width + 6 : 0);
    const style = { colour: rest ? colours.dim : colours.ink, bold: i === 0 };
    write(pen, look, { size: rest ? 13 : 15, ...style });
    // The first one is never cut.
    if (i === 0)
      write(pen, look, { size: 15 * Math.min(1, Math.max(0.6, room / pen.measureText(name).width)), ...style });
    pen.fillText(fitting(pen, name, room), x, top + 14 * look.type);
    pen.globalAlpha = rest ? 0.4 : 1;
    pen.fillStyle = colours.bar;
    pen.beginPath();
    pen.roundRect(x, top + 20 * look.type, Math.max(2, p * grown * width), 8, 2);
    pen.fill();
    pen.globalAlpha = 1;
    if (before === null || stage || Math.abs(before - p) < 0.002) return;
    pen.setLineDash([2, 2]);
    pen.strokeStyle = colours.bar;
    pen.lineWidth = 1;
    pen.strokeRect(x + 0.5, top + 20 * look.type + 0.5, Math.max(2, before * width) - 1, 7);
    pen.setLineDash([]);
  });
}
