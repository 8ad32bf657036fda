/** What a stroke does to a picture: from pixels to pixels. No DOM. */

/** How far a stroke reaches, in pixels of the picture; at its middle it is full, and it fades over the last pixel. */
const REACH = 1.3;

/**
 * With a dab of ink at a point; nothing gets paler.
 * @param {number[][]} pixels @param {{x: number, y: number}} at  in pixels of the picture @param {number} most  the level of ink
 */
export const inked = (pixels, at, most) =>
  changed(pixels, at, (level, near) => Math.max(level, Math.round(most * Math.min(1, near))));

/** Rubbed out at a point; nothing gets darker. @param {number[][]} pixels @param {{x: number, y: number}} at @param {number} most */
export const erased = (pixels, at, most) =>
  changed(pixels, at, (level, near) => Math.min(level, Math.round(most * Math.max(0, 1 - near))));

/** @param {number[][]} pixels @param {{x: number, y: number}} at @param {(level: number, near: number) => number} to */
function changed(pixels, { x, y }, to) {
  return pixels.map((line, row) =>
    line.map((level, column) => {
      const near = REACH - Math.hypot(column + 0.5 - x, row + 0.5 - y);
      return near > 0 ? to(level, near) : level;
    }),
  );
}

/** With one pixel at another level. @param {number[][]} pixels @param {number} row @param {number} column @param {number} level */
export const withPixel = (pixels, row, column, level) =>
  pixels.map((line, r) => (r === row ? line.map((old, c) => (c === column ? level : old)) : line));

/** The positions that are hidden, with one more or one less. @param {number[]} hidden @param {number} position */
export const toggledPatch = (hidden, position) =>
  hidden.includes(position) ? hidden.filter((at) => at !== position) : [...hidden, position].sort((a, b) => a - b);
