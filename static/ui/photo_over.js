/** A photo with numbers over its patches: the deeper a patch's colour, the larger its number. */

import { h } from "./dom.js";
import { shownPhoto } from "./patch_picture.js";

/** @import { Patch, Photo } from "../model/patches.js" */

/** How much of the photo the deepest colour covers. */
const COVERS = 0.85;

/**
 * One small canvas, because a page has a hundred of these with hundreds of patches each.
 * @param {{patch: Patch, index: number}[]} patches
 * @param {ArrayLike<number>} values  of each token @param {number} full  the value that is deepest @param {number} from  the position that looks: framed
 * @returns {HTMLElement}
 */
export function photoOver(patches, values, full, from) {
  const photo = /** @type {Photo} */ (patches[0].patch.photo);
  const across = photo.size / photo.patch;
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { class: "weights", width: across, height: across }));
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent");
  for (const { patch, index } of patches) {
    pen.globalAlpha = COVERS * Math.min(1, values[index] / full);
    pen.fillRect(patch.column, patch.row, 1, 1);
  }
  const style = { "background-image": `url("${shownPhoto(photo).pale}")` };
  const looker = patches.find(({ index }) => index === from)?.patch;
  const percent = (/** @type {number} */ n) => `${(100 * n) / across}%`;
  const frame = looker && {
    left: percent(looker.column),
    top: percent(looker.row),
    width: percent(1),
    height: percent(1),
  };
  return h(
    "span",
    { class: "picture-over photo", style, "aria-hidden": true },
    canvas,
    frame && h("span", { class: "from", style: frame }),
  );
}
