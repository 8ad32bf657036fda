/** A patch of a picture, small, where a token's text stands; a photo's pixels as an image that elements and pens can show; and pictures with numbers over their patches. */

import { bytesOf } from "../model/patches.js";
import { h, svg } from "./dom.js";
import { t } from "./i18n.js";

/**
 * @import { Token } from "../model/labels.js"
 * @import { Patch, Photo } from "../model/patches.js"
 */

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

/** A patch in a sentence, as far as its label shows it. @param {{place: string, shades: number[]}} patch @returns {Node} */
export function patchMark({ place, shades }) {
  const [viewBox, content] = pixelsIn({ shades });
  return h("span", { class: "patch-mark" }, svg("svg", { viewBox, "aria-hidden": "true" }, content), place);
}

/** @param {Pick<Patch, "shades">} patch @returns {[string, SVGElement[]]} */
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

// A photo with numbers over its patches: the deeper a patch's colour, the larger its number.

/** How much of the photo the deepest colour covers. */
const COVERS = 0.85;

/**
 * One small canvas, because a page has a hundred of these with hundreds of patches each.
 * @param {{patch: Patch, index: number}[]} patches
 * @param {ArrayLike<number>} values  of each token @param {number} full  the value that is deepest @param {number} from  the position that looks: framed
 * @returns {HTMLElement}
 */
function photoOver(patches, values, full, from) {
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
  /** @param {typeof patches[number]} of @param {Record<string, any>} attrs */
  const square = ({ patch: { row, column } }, attrs) =>
    svg("rect", { x: column * side, y: row * side, width: side, height: side, ...attrs });
  const weights = patches.map((one) =>
    square(one, { class: "weight", "fill-opacity": Math.min(1, values[one.index] / full).toFixed(3) }),
  );
  const frames = patches.filter(({ index }) => index === from).map((one) => square(one, { class: "from" }));
  const look = { class: "picture-over", viewBox: `0 0 ${size} ${size}`, "aria-hidden": true };
  return svg("svg", look, weights, patches.flatMap(inkOf), frames);
}

/** A patch's pixels, smaller where they are paler. @param {{patch: Patch}} of @returns {Element[]} */
function inkOf({ patch: { row, column, shades } }) {
  const side = Math.sqrt(shades.length);
  return shades.flatMap((shade, i) => {
    if (shade === 0) return [];
    const width = INK * Math.sqrt(shade);
    const [x, y] = [column * side + (i % side), row * side + Math.floor(i / side)];
    return [svg("rect", { class: "ink", x: x + (1 - width) / 2, y: y + (1 - width) / 2, width, height: width })];
  });
}
