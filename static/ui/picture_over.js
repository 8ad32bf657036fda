/** A picture with numbers over its patches: the deeper a patch's colour, the larger its number. */

import { svg } from "./dom.js";
import { photoOver } from "./photo_over.js";

/** @import { Token } from "../model/labels.js" */

/** How much of a pixel its ink takes, so that the colour around it is seen. */
const INK = 0.62;

/**
 * @param {Token[]} tokens  patches, and [CLS], which has no place in the picture
 * @param {ArrayLike<number>} values  of each token @param {number} full  the value that is deepest @param {number} [from]  the position that looks: framed
 * @returns {Element}
 */
export function pictureOver(tokens, values, full, from = -1) {
  const patches = tokens.flatMap(({ patch, index }) => (patch ? [{ patch, index }] : []));
  if (patches[0]?.patch.photo) return photoOver(patches, values, full, from);
  const side = Math.sqrt(patches[0]?.patch.shades.length ?? 1);
  const size = Math.sqrt(patches.length) * side;
  const square = ({ patch: { row, column } }, attrs) =>
    svg("rect", { x: column * side, y: row * side, width: side, height: side, ...attrs });
  const weights = patches.map((one) =>
    square(one, { class: "weight", "fill-opacity": Math.min(1, values[one.index] / full).toFixed(3) }),
  );
  const frames = patches.filter(({ index }) => index === from).map((one) => square(one, { class: "from" }));
  const look = { class: "picture-over", viewBox: `0 0 ${size} ${size}`, "aria-hidden": true };
  return svg("svg", look, weights, patches.flatMap(inkOf), frames);
}

/** A patch's pixels, smaller where they are paler. */
function inkOf({ patch: { row, column, shades } }) {
  const side = Math.sqrt(shades.length);
  return shades.flatMap((shade, i) => {
    if (shade === 0) return [];
    const width = INK * Math.sqrt(shade);
    const [x, y] = [column * side + (i % side), row * side + Math.floor(i / side)];
    return [svg("rect", { class: "ink", x: x + (1 - width) / 2, y: y + (1 - width) / 2, width, height: width })];
  });
}
