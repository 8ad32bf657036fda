/** All layers above the one that a phone has room for; the open one is framed. */

import { drawRivers } from "./lines.js";
import { write } from "./text.js";

/**
 * @import { Scene, Strip } from "../layout/layout.js"
 * @import { Look, Pen } from "./scene.js"
 */

/** @param {Pen} pen @param {Strip} strip @param {Pick<Scene, "only">} scene @param {Look} look */
export function drawStrip(pen, { scene, height }, { only }, look) {
  pen.save();
  pen.scale(1, height / scene.height);
  drawRivers(pen, scene, { ...look, preview: null, hovered: null });
  pen.restore();
  write(pen, look, { size: 11, colour: look.colours.dim });
  for (const { stack, columns } of scene.bands) {
    columns.forEach(({ x0, x1 }, layer) => {
      const open = only?.stack === stack && only.layer === layer;
      pen.fillText(String(layer), x0 + 5, 12 * look.type);
      pen.strokeStyle = open ? look.colours.accent : look.colours.hair;
      pen.lineWidth = open ? 2 : 1;
      pen.beginPath();
      pen.roundRect(x0 + 1, 1, x1 - x0 - 2, height - 2, 5);
      pen.stroke();
    });
  }
}
