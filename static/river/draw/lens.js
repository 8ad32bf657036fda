/** What the model would say after each layer, below its column. */

import { LABEL_GAP } from "../layout/bands.js";
import { write } from "./text.js";

/**
 * @import { Scene } from "../layout/layout.js"
 * @import { Look, Pen } from "./scene.js"
 */

/** In narrower layers an answer is named only where it changes. */
const NARROW = 62;

/** After the one layer that is drawn: title and answer in one line. @param {Pen} pen @param {number} layer @param {{y: number, arrived: boolean}} at @param {Look} look */
function drawLensOf(pen, layer, { y, arrived }, look) {
  const { name, text, final, fresh } = look.lens[layer];
  write(pen, look, { size: 13, colour: look.colours.dim });
  pen.fillText(look.lensHere, 2, y);
  const x = 2 + pen.measureText(look.lensHere).width;
  if (!arrived) return; // the streams have not come so far
  write(pen, look, { size: 15, colour: final ? look.colours.bar : look.colours.dim, bold: fresh });
  pen.fillText(`${name} ${text}`, x, y);
}

/** What the model would say if it stopped after each layer; bold where that changes. @param {Pen} pen @param {Scene} scene @param {Look} look */
export function drawLens(pen, { bands: [band], lens, only }, look) {
  if (!look.lens.length) return;
  const { colours } = look;
  const widest = Math.max(...band.columns.map(({ x0, x1 }) => x1 - x0));
  if (widest === 0) return; // another stack's layer is drawn alone
  const narrow = widest < NARROW * look.type;
  if (only) return drawLensOf(pen, only.layer, { y: lens, arrived: !look.stage || look.stage.flow === 1 }, look);
  write(pen, look, { size: 13, colour: colours.dim, align: "right" });
  if (!narrow) pen.fillText(look.lensTitle, band.columns[0].x0 - LABEL_GAP, lens);
  let end = Infinity; // where the word to the right begins
  [...look.lens.entries()].reverse().forEach(([layer, { name, text, fresh, final }]) => {
    if (narrow && !fresh && layer < look.lens.length - 1) return;
    const { x0, x1 } = band.columns[layer];
    if (x0 === x1) return;
    if (look.stage && x1 > look.stage.flow * band.end + 1) return;
    write(pen, look, { size: 15, colour: final ? colours.bar : colours.dim, align: "right", bold: fresh });
    const room = (narrow ? 2 : 1) * (x1 - x0) - (narrow ? 2 : 10);
    const words = [`${name} ${text}`, name].find(
      (one, i) => !(narrow && i === 0) && pen.measureText(one).width <= room,
    );
    const right = x1 - (narrow ? 0 : 6);
    if (!words || right > end) return;
    pen.fillText(words, right, lens);
    end = right - pen.measureText(words).width - 4;
  });
}
