/**
 * The camera: between the whole model and a place in it, the river becomes a strip and a head's thumbnail its matrix, as a view
 * transition (css/layout.css); between the start page and the tools, its rows slide to their new height. Only the page that owns the
 * address has one. Nothing is awaited while the page stands still.
 */

import { boardOf, sceneOf } from "../river/board.js";
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

/** Whether the tools come or go around the same picture. @param {State} was @param {State} now */
const frames = (was, now) =>
  was.start !== now.start &&
  isModel(was) &&
  isModel(now) &&
  was.lesson === null &&
  now.lesson === null &&
  was.model === now.model &&
  was.text === now.text;

/** How long it takes, and how long a picture that is still asked for is held where it was. Milliseconds. */
const [SLIDE, HELD] = [240, 1000];

/** @typedef {{panels: Object<string, HTMLElement>, opened: HTMLElement, say: HTMLElement, dock: HTMLElement, path: {element: HTMLElement}, start: HTMLElement}} Framed */

/** The camera of a page. @param {Framed} frame */
export function createCamera(frame) {
  const { opened } = frame;
  const { river } = frame.panels;
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

  /** Whether a change is seen as a slide. @param {State} was @param {State} now */
  const slides = (was, now) => frames(was, now) && !moving && !calm.matches && (canvasOf()?.checkVisibility() ?? false);

  /**
   * Draws, and lets the sentence and the rows begin where they were: until the picture is drawn anew they stay there.
   * @param {State} now @param {() => void} draw
   */
  function slide(now, draw) {
    const canvas = /** @type {HTMLCanvasElement} */ (canvasOf());
    const [said, was] = [topOf(frame.say), rowsOf(canvas)];
    draw();
    const foot = river.querySelector(".foot");
    for (const one of now.start ? [frame.start] : [frame.dock, frame.path.element, ...(foot ? [foot] : [])])
      one.animate({ opacity: [0, 1] }, { duration: SLIDE, easing: "ease-in" });
    const off = `translateY(${said - topOf(frame.say)}px)`;
    const held = [hold(frame.say, off), hold(canvas, `translateY(${was.top - rowsOf(canvas).top}px)`)];
    const stop = new AbortController();
    const drawn = () => {
      if (boardOf(canvas)?.shown?.start !== now.start) return;
      stop.abort();
      for (const one of held) one.cancel();
      const { top, height, from } = rowsOf(canvas);
      const timing = { duration: SLIDE, easing: "ease-out" };
      frame.say.animate({ transform: [off, "none"] }, timing);
      const turned = `translateY(${was.top - top}px) scaleY(${was.height / height})`;
      canvas.animate({ transform: [turned, "none"], transformOrigin: [`0 ${from}px`, `0 ${from}px`] }, timing);
    };
    river.addEventListener("drawn", drawn, { signal: stop.signal });
    held[0].addEventListener("finish", () => stop.abort(), { signal: stop.signal });
    drawn();
  }
  return { moves, move, slides, slide };
}

/** @param {Element} element  in the window */
const topOf = (element) => element.getBoundingClientRect().top;

/** Where all rows begin in the window and on their canvas, and how high they are. @param {HTMLCanvasElement} canvas */
function rowsOf(canvas) {
  const bands = sceneOf(canvas)?.bands ?? [];
  const [from, to] = [bands[bands.length - 1]?.top ?? 0, bands[0]?.bottom ?? 1];
  return { top: topOf(canvas) + from, height: to - from, from };
}

/** @param {Element} element @param {string} transform */
const hold = (element, transform) => element.animate({ transform: [transform, transform] }, { duration: HELD });

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
