/**
 * The two pictures that no heatmap has: hatching below the cells (it shows where a cell is empty), and gaps with
 * rounded corners above them. Both are small SVG images in the layout, so that an exported file has them too.
 */

import { cssColour } from "../colour.js";

/** @typedef {import("./layout.js").Size} Size */

/** Below this many pixels a cell has no gap: it would eat the colour. */
const SMALLEST = 5;

/** Diagonal lines over all that the cells leave free. @param {Size} size */
export function hatchImage({ cell, view }) {
  const width = (Math.abs(view.x[1] - view.x[0]) * cell.w) | 0;
  const height = (Math.abs(view.y[1] - view.y[0]) * cell.h) | 0;
  const [step, stroke] = cell.w >= 14 ? [7, 1.2] : [4, 0.9];
  // Two extra half lines in the corners: a line that leaves the tile on one side comes in on the other.
  const lines = `M0 ${step}L${step} 0M-1 1L1 -1M${step - 1} ${step + 1}L${step + 1} ${step - 1}`;
  const pattern = tile(step, step, `<path d="${lines}" stroke="${cssColour("--line-2")}" stroke-width="${stroke}"/>`);
  return {
    ...image(svg(width, height, pattern)),
    layer: "below",
    xref: "paper",
    yref: "paper",
    x: 0,
    y: 1,
    sizex: 1,
    sizey: 1,
  };
}

/**
 * A sheet in the panel's colour with one rounded window for each cell that is seen.
 * @param {Size} size @param {[number, number]} shape
 */
export function frameImage({ cell, view }, [rows, cols]) {
  if (Math.min(cell.w, cell.h) < SMALLEST) return null;
  const [x0, x1] = within(view.x, cols);
  const [y0, y1] = within(view.y, rows);
  const gap = Math.min(cell.w, cell.h) >= 20 ? 1 : 0.5;
  const corner = Math.min(4, cell.w / 6, cell.h / 6);
  const window = roundedBox(gap, gap, cell.w - 2 * gap, cell.h - 2 * gap, corner);
  const sheet = `<path fill="${cssColour("--panel")}" fill-rule="evenodd" d="M0 0H${cell.w}V${cell.h}H0Z${window}"/>`;
  const [width, height] = [(x1 - x0) * cell.w, (y1 - y0) * cell.h];
  return {
    ...image(svg(width, height, tile(cell.w, cell.h, sheet))),
    layer: "above",
    xref: "x",
    yref: "y",
    x: x0 - 0.5,
    y: y0 - 0.5,
    sizex: x1 - x0,
    sizey: y1 - y0,
  };
}

/** The whole cells that a stretch of an axis shows: [first, behind the last]. */
function within([a, b], count) {
  const [low, high] = [Math.min(a, b), Math.max(a, b)];
  return [Math.max(0, Math.floor(low + 0.5)), Math.min(count, Math.ceil(high + 0.5))];
}

function roundedBox(x, y, width, height, r) {
  const turn = (dx, dy) => `a${r} ${r} 0 0 1 ${dx} ${dy}`;
  const [across, down] = [width - 2 * r, height - 2 * r];
  const there = `h${across}${turn(r, r)}v${down}${turn(-r, r)}`;
  return `M${x + r} ${y}${there}h${-across}${turn(-r, -r)}v${-down}${turn(r, -r)}Z`;
}

function tile(width, height, content) {
  return `<pattern id="p" width="${width}" height="${height}" patternUnits="userSpaceOnUse">${content}</pattern>`;
}

function svg(width, height, pattern) {
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  const defs = `<defs>${pattern}</defs><rect width="100%" height="100%" fill="url(#p)"/>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>${defs}</svg>`;
}

function image(source) {
  const data = `data:image/svg+xml,${encodeURIComponent(source)}`;
  return { source: data, sizing: "stretch", xanchor: "left", yanchor: "top" };
}
