/** Patches of a picture as tokens: their places, their pixels, and a small picture of each as a character. No DOM. */

import { memo } from "./memo.js";

/** @import { Token } from "./labels.js" */

/**
 * @typedef {{size: number, patch: number, levels: number, channels?: number, before?: string[]}} Picture  as in a model's `picture`; with `channels` (bytes
 *   of a pixel) it is a photo: not drawn by hand but uploaded, and its patches are too many to be counted
 * @typedef {number[][]|string} Pixels  the rows of a picture; of a photo, its bytes in base64
 * @typedef {{pixels: string, size: number, patch: number, channels: number}} Photo
 * @typedef {Object} Patch
 * @property {number} n  of all patches, row by row
 * @property {number} row @property {number} column  among the patches
 * @property {number[]} shades  of its pixels row by row, from 0 (paper) to 1 (ink); of a photo none
 * @property {string} glyph  a character that looks like it, as far as four squares can; of a photo none
 * @property {Photo} [photo]  what it is a patch of: the same object for all of them
 */

/** Squares: upper left, upper right, lower left, lower right; ink is 1, 2, 4, 8. */
const GLYPHS = "□▘▝▀▖▌▞▛▗▚▐▜▄▙▟█";
/** The place of a patch and its squares, ink or paper, of its label; null: it is another label, or a photo's. @param {string} label */
export function patchLabelled(label) {
  const [, place, glyph] = /^(\d+,\d+) (.)$/u.exec(label) ?? [];
  const ink = glyph ? GLYPHS.indexOf(glyph) : -1;
  return ink < 0 ? null : { place, shades: [1, 2, 4, 8].map((square) => (ink & square ? 1 : 0)) };
}

/** A square with more than this is ink. */
const INK = 0.3;

/** A picture without ink. @param {number} size @returns {number[][]} */
export const blank = (size) => Array.from({ length: size }, () => new Array(size).fill(0));

/** Whether its pictures are uploaded, not drawn. @param {{picture?: Picture|null}|null|undefined} model */
export const readsPhotos = (model) => Boolean(model?.picture?.channels);

/** Whether a picture has a model's size and levels. @param {Pixels|null} pixels @param {Picture} picture */
export const fits = (pixels, { size, levels, channels }) =>
  channels
    ? typeof pixels === "string" &&
      pixels.length === 4 * Math.ceil((size * size * channels) / 3) &&
      /^[\w+/]*={0,2}$/.test(pixels)
    : Array.isArray(pixels) &&
      pixels.length === size &&
      pixels.every((row) => row.length === size && row.every((level) => level < levels));

/** The position of the first patch: after [CLS], and what else is before it. @param {Picture} picture */
export const firstPatch = ({ before }) => before?.length ?? 1;

/** The position of the patch that a pixel is in. @param {{row: number, column: number}} pixel @param {Picture} picture */
export const positionAt = ({ row, column }, picture) =>
  firstPatch(picture) + Math.floor(row / picture.patch) * across(picture) + Math.floor(column / picture.patch);

/** Patches in a row. @param {Picture} picture */
export const across = ({ size, patch }) => size / patch;

/**
 * Tokens with their patches, where a model reads pictures. A patch is spelt by its pixels, one character each; that of a photo
 * by its place, and the run has the pixels.
 * @param {Token[]} tokens @param {Picture|undefined|null} picture @param {unknown} [pixels]  of the run
 * @returns {Token[]}
 */
export function asPatches(tokens, picture, pixels) {
  if (!picture) return tokens;
  const photo = picture.channels ? photoOf(/** @type {string} */ (pixels), picture) : undefined;
  if (photo && !fits(/** @type {any} */ (pixels), picture)) return tokens; // a file from elsewhere may say anything
  const patch = (/** @type {Token} */ { text }, /** @type {number} */ n) =>
    photo ? { ...patchPlace(n, picture), shades: [], glyph: "", photo } : patchAt(text, n, picture);
  return tokens.map((token, index) =>
    token.special ? token : { ...token, patch: patch(token, index - firstPatch(picture)) },
  );
}

/** @param {string} pixels @param {Picture} picture @returns {Photo} */
export const photoOf = (pixels, { size, patch, channels = 3 }) => ({ pixels, size, patch, channels });

/** The bytes of a photo, [row column channel]. */
export const bytesOf = memo((/** @type {Photo} */ { pixels }) =>
  Uint8Array.from(atob(pixels), (letter) => letter.charCodeAt(0)),
);

/** The mean colour of a patch, 0 to 255 for each channel. @param {Patch & {photo: Photo}} patch @returns {number[]} */
export function meanColour({ row, column, photo }) {
  const { size, patch, channels } = photo;
  const bytes = bytesOf(photo);
  const sums = new Array(channels).fill(0);
  for (let y = row * patch; y < (row + 1) * patch; y++)
    for (let x = column * patch; x < (column + 1) * patch; x++)
      for (let c = 0; c < channels; c++) sums[c] += bytes[(y * size + x) * channels + c];
  return sums.map((sum) => Math.round(sum / patch ** 2));
}

/** Where a patch is. @param {number} n @param {Picture} picture */
export const patchPlace = (n, picture) => ({ n, row: Math.floor(n / across(picture)), column: n % across(picture) });

/** @param {string} text @param {number} n @param {Picture} picture @returns {Patch} */
export function patchAt(text, n, picture) {
  const shades = [...text].map((digit) => parseInt(digit, 36) / (picture.levels - 1));
  return { ...patchPlace(n, picture), shades, glyph: glyphOf(shades, picture.patch) };
}

/** @param {number[]} shades @param {number} side  pixels */
function glyphOf(shades, side) {
  const sums = [0, 0, 0, 0];
  shades.forEach((shade, i) => {
    const [row, column] = [Math.floor(i / side), i % side];
    sums[2 * Number(row >= side / 2) + Number(column >= side / 2)] += shade;
  });
  const full = shades.length / 4;
  return [...GLYPHS][sums.reduce((bits, sum, i) => bits + (sum > INK * full ? 1 << i : 0), 0)];
}

/** "0,3 ▚": its row and column, and how it looks. @param {Patch} patch */
export const patchLabel = ({ row, column, glyph }) => `${row},${column} ${glyph}`.trimEnd();

/** The pixels of a picture, row by row, from its patches. @param {Patch[]} patches @param {Picture} picture @returns {number[][]} levels */
export function pixelsOf(patches, { size, patch: side, levels }) {
  const rows = blank(size);
  for (const { row, column, shades } of patches)
    shades.forEach((shade, i) => {
      rows[row * side + Math.floor(i / side)][column * side + (i % side)] = Math.round(shade * (levels - 1));
    });
  return rows;
}
