/** What stands still while Watch plays, kept as one picture until the streams reach another layer. */

import { drawStill } from "./scene.js";

/**
 * @import { Scene } from "../layout/layout.js"
 * @import { Look } from "./scene.js"
 */

export function createStill() {
  const canvas = document.createElement("canvas");
  let of = /** @type {Scene|null} */ (null);
  let reached = -1;

  /** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {Look} look @param {number} dpr */
  return (pen, scene, look, dpr) => {
    const now = reachedBy(scene, look);
    if (of !== scene || reached !== now) {
      Object.assign(canvas, { width: Math.round(scene.width * dpr), height: Math.round(scene.height * dpr) });
      const still = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
      still.scale(dpr, dpr);
      drawStill(still, scene, look);
      [of, reached] = [scene, now];
    }
    pen.imageSmoothingEnabled = false;
    pen.drawImage(canvas, 0, 0, scene.width, scene.height);
  };
}

/** How many of the things that light up one after the other are lit. @param {Scene} scene @param {Look} look */
function reachedBy({ squares, bands: [{ columns, end }] }, { stage }) {
  const x = (stage?.flow ?? 1) * end;
  return squares.filter((one) => one.x + one.width <= x).length + columns.filter(({ x1 }) => x1 <= x + 1).length;
}
