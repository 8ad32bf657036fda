/** The pictures on the page: code that draws one registers it here, and code that exports one finds it here. */

/**
 * @import { Bars } from "./bars/bar_picture.js"
 * @import { Size } from "./matrix/layout.js"
 * @import { Matrix } from "./matrix/matrix.js"
 */

/**
 * @typedef {{kind: "matrix", content: Matrix, size: Size, plot: HTMLElement}
 *   | {kind: "bars", content: Bars, plot: HTMLElement}
 *   | {kind: "lines", content: any, plot: SVGSVGElement}
 *   | {kind: "drawn", content: Drawn, plot: Element}} Picture  see lines/picture.js; `drawn`: an SVG of the page as it is, or an
 *   element with several and their names
 *
 * @typedef {{id: string, title: string, label: string, legend: string, table: (string|number)[][]}} Drawn  what it is called, how
 *   it is described, what its colours mean, and its numbers, a head first
 */

/** @type {WeakMap<Element, () => Picture|null>} */
const known = new WeakMap();

/** `read` returns what is drawn at that time; null: nothing yet. @param {HTMLElement} element @param {() => Picture|null} read */
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
