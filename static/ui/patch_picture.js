/** A patch of a picture, small, where a token's text stands; a photo's pixels as an image that elements and pens can show. */

import { bytesOf } from "../model/patches.js";
import { h, svg } from "./dom.js";
import { t } from "./i18n.js";

/** @import { Patch, Photo } from "../model/patches.js" */

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

/** @param {Patch} patch @returns {Node} */
export function patchPicture(patch) {
  const { row, column } = patch;
  const [viewBox, content] = patch.photo ? photoIn(patch, patch.photo) : pixelsIn(patch);
  const look = { viewBox, role: "img", "aria-label": patchWords(patch) };
  return h(
    "span",
    { class: "patch" },
    svg("svg", look, content),
    h("span", { "aria-hidden": true }, `${row},${column}`),
  );
}

/** @param {Patch} patch @returns {[string, SVGElement[]]} */
function pixelsIn({ shades }) {
  const side = Math.sqrt(shades.length);
  const pixels = shades.map((shade, i) =>
    svg("rect", { x: i % side, y: Math.floor(i / side), width: 1, height: 1, "fill-opacity": shade }),
  );
  return [`0 0 ${side} ${side}`, pixels];
}

/** A window onto the whole photo. @param {Patch} patch @param {Photo} photo @returns {[string, SVGElement[]]} */
function photoIn({ row, column }, photo) {
  const { size, patch: side } = photo;
  const image = svg("image", { href: shownPhoto(photo).url, width: size, height: size });
  return [`${column * side} ${row * side} ${side} ${side}`, [image]];
}

/**
 * @typedef {Object} Shown
 * @property {HTMLCanvasElement} canvas  one pixel for each of the photo's
 * @property {string} url  of a PNG in this document
 * @property {string} pale  the same in pale grey, to draw on
 */

/** As many photos as are shown at once: two that are compared, and some that Back leads to. */
const KEPT = 8;
/** @type {Map<string, Shown>} by pixels, the oldest first */
const known = new Map();

/** The same for the same pixels. @param {Photo} photo @returns {Shown} */
export function shownPhoto(photo) {
  const found = known.get(photo.pixels) ?? made(photo);
  known.delete(photo.pixels);
  known.set(photo.pixels, found);
  for (const [pixels, { url, pale }] of known) {
    if (known.size <= KEPT) break;
    known.delete(pixels);
    for (const one of [url, pale]) URL.revokeObjectURL(one);
  }
  return found;
}

/** @param {Photo} photo @returns {Shown} */
function made(photo) {
  const bytes = bytesOf(photo);
  const canvas = canvasOf(photo, (at) => colourOf(bytes, at, photo.channels));
  const faded = canvasOf(photo, (at) => {
    const grey = colourOf(bytes, at, photo.channels).reduce((sum, part, i) => sum + part * LUMA[i], 0);
    return [0, 1, 2].map(() => 255 - (255 - grey) * PALE);
  });
  return { canvas, url: urlOf(canvas), pale: urlOf(faded) };
}

/** How bright red, green and blue are (Rec. 601). */
const LUMA = [0.299, 0.587, 0.114];
/** How much of its contrast a pale picture keeps. */
const PALE = 0.45;

/** @param {Uint8Array} bytes @param {number} at @param {number} channels @returns {number[]} red, green, blue */
const colourOf = (bytes, at, channels) => [0, 1, 2].map((c) => bytes[at * channels + (channels === 1 ? 0 : c)]);

/** @param {Photo} photo @param {(at: number) => number[]} colour */
function canvasOf({ size }, colour) {
  const canvas = Object.assign(document.createElement("canvas"), { width: size, height: size });
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = pen.createImageData(size, size);
  for (let at = 0; at < size * size; at++) image.data.set([...colour(at), 255], 4 * at);
  pen.putImageData(image, 0, 0);
  return canvas;
}

/** An address of a few characters: hundreds of patches name it. @param {HTMLCanvasElement} canvas */
function urlOf(canvas) {
  const [head, body] = canvas.toDataURL("image/png").split(",");
  const bytes = Uint8Array.from(atob(body), (letter) => letter.charCodeAt(0));
  return URL.createObjectURL(new Blob([bytes], { type: head.slice(5, head.indexOf(";")) }));
}
