/** Drawings on a canvas that can be saved: who draws one offers it here, and the export menu finds it. */

import { sceneOf } from "./scene.js";
import { SvgPen } from "./svg_pen.js";

/** @typedef {{width: number, height: number, draw: (pen: CanvasRenderingContext2D) => void}} Drawing */

/** @type {WeakMap<Element, () => Drawing|null>} */
const offered = new WeakMap();

/** `read` returns what is drawn at that time; null: nothing. @param {HTMLElement} element @param {() => Drawing|null} read */
export function offer(element, read) {
  element.dataset.drawing = "";
  offered.set(element, read);
}

/** The drawing that can be seen inside a panel. @param {Element|undefined} panel @returns {Drawing|null} */
export function drawingIn(panel) {
  const element = panel?.querySelector("[data-drawing]");
  return element?.getClientRects().length ? (offered.get(element)?.() ?? null) : null;
}

/** @param {Drawing} drawing @param {{title: string, sentence: string, source: string}} caption */
export function drawingScene({ width, height, draw }, caption) {
  const pen = new SvgPen();
  draw(/** @type {any} */ (pen));
  return sceneOf(caption, { width, height, nodes: [pen.root] });
}
