/**
 * The camera: between the whole model and a place in it, the river becomes a strip and a head's thumbnail its matrix, as a view
 * transition (css/layout.css). Only the page that owns the address has one. Nothing is awaited while the page stands still.
 */

import { sceneOf } from "../river/board.js";
import { h, newId } from "../ui/dom.js";
import { isModel } from "../views/places.js";

/** @import { State } from "../state/store.js" */

/** Whether the camera moves from one state to another: into the model or out of it, and not for another text. @param {State} was @param {State} now */
const enters = (was, now) =>
  isModel(was) !== isModel(now) &&
  was.lesson === null &&
  now.lesson === null &&
  was.model === now.model &&
  was.text === now.text;

/** The camera of a page. @param {{panels: Object<string, HTMLElement>, opened: HTMLElement}} frame */
export function createCamera({ panels: { river }, opened }) {
  const name = newId("camera");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const canvasOf = () => /** @type {HTMLCanvasElement|null} */ (river?.querySelector("[data-drawing]"));
  let moving = false;

  /** Whether a change is seen as a move of the camera. @param {State} was @param {State} now @returns {boolean} */
  const moves = (was, now) =>
    enters(was, now) &&
    !moving &&
    !calm.matches &&
    Boolean(document.startViewTransition) &&
    (canvasOf()?.checkVisibility() ?? false);

  /** Draws in a transition. @param {State} now @param {() => void} draw */
  function move(now, draw) {
    const canvas = /** @type {HTMLCanvasElement} */ (canvasOf());
    moving = true;
    const thumbnail = isModel(now) ? null : thumbnailOf(canvas, now);
    const named = [nameIt(canvas, `${name}-river`)];
    if (thumbnail) nameIt(thumbnail, `${name}-head`);
    const transition = document.startViewTransition(() => {
      thumbnail?.remove();
      draw();
      if (isModel(now)) return;
      named.push(nameIt(opened.querySelector("canvas") ?? opened, `${name}-head`));
    });
    transition.ready.catch(() => {}); // skipped, as in a window that is not seen: the page is as it should be
    transition.finished.finally(() => {
      for (const forget of named) forget();
      moving = false;
    });
  }
  return { moves, move };
}

/** Gives an element its name in the transition. @param {HTMLElement} element @param {string} name @returns {() => void} takes it back */
function nameIt(element, name) {
  element.classList.add("in-camera");
  element.style.setProperty("view-transition-name", name);
  return () => {
    element.classList.remove("in-camera");
    element.style.removeProperty("view-transition-name");
  };
}

/** A copy of a head's thumbnail over the river: what is drawn on a canvas has no name. @param {HTMLCanvasElement} canvas @param {State} state @returns {HTMLCanvasElement|null} */
function thumbnailOf(canvas, { attention, layer, head }) {
  const square = sceneOf(canvas)?.squares.find(
    (one) => one.layer === layer && one.head === head && (attention === null || one.attention === attention),
  );
  const scale = canvas.width / canvas.clientWidth;
  if (!square || !(scale > 0)) return null;
  const { x, y, width, height } = square;
  const size = { width: Math.round(width * scale), height: Math.round(height * scale) };
  const style = { position: "absolute", left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` };
  const copy = h("canvas", { ...size, style, "aria-hidden": "true" });
  copy
    .getContext("2d")
    ?.drawImage(canvas, x * scale, y * scale, size.width, size.height, 0, 0, size.width, size.height);
  canvas.parentElement?.append(copy);
  return copy;
}
