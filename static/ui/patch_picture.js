/** A patch of a picture, small, where a token's text stands. */

import { h, svg } from "./dom.js";
import { t } from "./i18n.js";

/** A whole picture, small. @param {number[][]} pixels @param {number} levels @returns {SVGElement} */
export function pixelPicture(pixels, levels) {
  const rects = pixels.flatMap((row, y) =>
    row.map((level, x) => svg("rect", { x, y, width: 1, height: 1, "fill-opacity": level / (levels - 1) })),
  );
  const look = { class: "pixel-picture", viewBox: `0 0 ${pixels.length} ${pixels.length}`, "aria-hidden": true };
  return svg("svg", look, rects);
}

/** "patch 3 (row 0, column 3)". @param {{n: number, row: number, column: number}} patch */
export const patchWords = ({ n, row, column }) => t("picture.patch", { n, row, column });

/** @param {import("../model/patches.js").Patch} patch @returns {Node} */
export function patchPicture(patch) {
  const { shades, row, column } = patch;
  const side = Math.sqrt(shades.length);
  const pixels = shades.map((shade, i) =>
    svg("rect", { x: i % side, y: Math.floor(i / side), width: 1, height: 1, "fill-opacity": shade }),
  );
  const look = {
    viewBox: `0 0 ${side} ${side}`,
    role: "img",
    "aria-label": patchWords(patch),
  };
  return h(
    "span",
    { class: "patch" },
    svg("svg", look, pixels),
    h("span", { "aria-hidden": true }, `${row},${column}`),
  );
}
