/** Patches of a picture as tokens: their places, their pixels, and a small picture of each as a character. No DOM. */

/**
 * @typedef {{size: number, patch: number, levels: number}} Picture  as in a model's `picture`
 * @typedef {Object} Patch
 * @property {number} n  of all patches, row by row
 * @property {number} row @property {number} column  among the patches
 * @property {number[]} shades  of its pixels row by row, from 0 (paper) to 1 (ink)
 * @property {string} glyph  a character that looks like it, as far as four squares can
 */

/** Squares: upper left, upper right, lower left, lower right; ink is 1, 2, 4, 8. */
const GLYPHS = "□▘▝▀▖▌▞▛▗▚▐▜▄▙▟█";
/** A square with more than this is ink. */
const INK = 0.3;

/** A picture without ink. @param {number} size @returns {number[][]} */
export const blank = (size) => Array.from({ length: size }, () => new Array(size).fill(0));

/** Patches in a row. @param {Picture} picture */
export const across = ({ size, patch }) => size / patch;

/**
 * Tokens with their patches, where a model reads pictures. A patch is spelt by its pixels, one character each.
 * @param {import("./labels.js").Token[]} tokens @param {Picture|undefined} picture @returns {import("./labels.js").Token[]}
 */
export function asPatches(tokens, picture) {
  if (!picture) return tokens;
  return tokens.map((token, index) =>
    token.special ? token : { ...token, patch: patchOf(token.text, index - 1, picture) },
  );
}

/** Where a patch is. @param {number} n @param {Picture} picture */
export const placeOf = (n, picture) => ({ n, row: Math.floor(n / across(picture)), column: n % across(picture) });

/** @param {string} text @param {number} n @param {Picture} picture @returns {Patch} */
export function patchOf(text, n, picture) {
  const shades = [...text].map((digit) => parseInt(digit, 36) / (picture.levels - 1));
  return { ...placeOf(n, picture), shades, glyph: glyphOf(shades, picture.patch) };
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
export const patchLabel = ({ row, column, glyph }) => `${row},${column} ${glyph}`;

/** The pixels of a picture, row by row, from its patches. @param {Patch[]} patches @param {Picture} picture @returns {number[][]} levels */
export function pixelsOf(patches, { size, patch: side, levels }) {
  const rows = blank(size);
  for (const { row, column, shades } of patches)
    shades.forEach((shade, i) => {
      rows[row * side + Math.floor(i / side)][column * side + (i % side)] = Math.round(shade * (levels - 1));
    });
  return rows;
}
