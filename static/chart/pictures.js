/** What all pictures on the page share: registration for the export menu, the icons of their buttons, how high they may be. */

import { inOneColumn, lowSheet } from "../ui/dom.js";

/**
 * @import { Bars } from "./bars/bar_picture.js"
 * @import { LinesContent } from "./lines/picture.js"
 * @import { Size } from "./matrix/layout.js"
 * @import { Matrix } from "./matrix/matrix.js"
 */

// Outlines of the buttons over a picture, on a 24 × 24 grid.

const LENS = "M10 3a7 7 0 1 0 4.2 12.6l5 5 1.4-1.4-5-5A7 7 0 0 0 10 3zm0 2a5 5 0 1 1 0 10 5 5 0 0 1 0-10z";

export const ICONS = {
  png: "M12 3v10.2l3.6-3.6 1.4 1.4-6 6-6-6 1.4-1.4 3.6 3.6V3zM4 19h14v2H4z",
  svg: "M3 5h5v2H5v10h3v2H3zm10 0h5v14h-5v-2h3V7h-3zM8 11h5v2H8z",
  closer: `${LENS}M9 7h2v2h2v2h-2v2H9v-2H7V9h2z`,
  back: `${LENS}M7 9h6v2H7z`,
  all: "M4 4h16v2H4zM4 11h16v2H4zM4 18h16v2H4zM4 4h2v16H4zM11 4h2v16h-2zM18 4h2v16h-2z",
};

/** The height of what is below a picture: the readout and the panel's edge. A view with more or less says so in CSS, as --below. */
const BELOW = 52;

/**
 * The room of a picture in a drawer, below what stands over it; null: it is in none. A drawer is as high as what it holds, so where
 * the picture is in the window follows from its own height, and says nothing about its room.
 * @param {Element} frame
 */
function mostIn(frame) {
  const drawer = frame.closest(".drawers");
  if (!drawer) return null;
  const over = frame.getBoundingClientRect().top - drawer.getBoundingClientRect().top + drawer.scrollTop;
  const high = lowSheet(frame) ? drawer.clientHeight : parseFloat(getComputedStyle(drawer).maxHeight);
  const most = high - over;
  return Number.isFinite(most) ? most : null; // beside another model it has no limit
}

/**
 * The heights that a picture may have, best first: what is left of the window below it before anyone scrolls, what is left
 * with its panel at the top, and the whole window, because far down in a long panel, as on a phone, nothing else is
 * enough. On a phone everybody scrolls, so the first of these does not count there.
 * @param {Element} frame  its place
 */
export function heightsFor(frame) {
  const { top } = frame.getBoundingClientRect();
  const panel = frame.closest(".panel");
  const page = frame.closest(".in-lesson"); // its bar covers the end of the window
  const bottom = innerHeight - (page ? parseFloat(getComputedStyle(page).paddingBottom) : 0);
  const inPanel = panel ? top - panel.getBoundingClientRect().top + panel.scrollTop : 0;
  const below = parseFloat(getComputedStyle(frame).getPropertyValue("--below")) || BELOW;
  const heights = [mostIn(frame) ?? bottom - top - scrollY, bottom - inPanel, bottom].map((height) => height - below);
  return inOneColumn() ? [heights[1], ...heights.slice(1)] : heights;
}

/**
 * @typedef {{kind: "matrix", content: Matrix, size: Size, plot: HTMLElement}
 *   | {kind: "bars", content: Bars, plot: HTMLElement}
 *   | {kind: "lines", content: LinesContent, plot: SVGSVGElement}
 *   | {kind: "drawn", content: Drawn, plot: Element}} Picture  see lines/picture.js; `drawn`: an SVG of the page as it is, or an
 *   element with several and their names
 *
 * @typedef {{id: string, title: string, label: string, legend: string, table: (string|number)[][], about?: string}} Drawn  what it is
 *   called, how it is described, what its colours mean, its numbers, a head first, and in a saved file what these are
 */

/** @type {WeakMap<Element, () => Picture|null>} */
const known = new WeakMap();

/** `read` returns what is drawn at that time; null: nothing yet. @param {HTMLElement|SVGElement} element @param {() => Picture|null} read */
export function announce(element, read) {
  element.dataset.picture = "";
  known.set(element, read);
}

/** The pictures that can be seen inside `container`, in their order. @param {Element} container @returns {Picture[]} */
export function picturesIn(container) {
  return [...container.querySelectorAll("[data-picture]")]
    .filter((element) => element.getClientRects().length > 0)
    .map((element) => known.get(element)?.() ?? null)
    .filter((picture) => picture !== null);
}
