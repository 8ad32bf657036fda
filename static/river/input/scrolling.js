/** How a reader moves in the picture: one of many layers scrolls sideways, its labels and answers stay; wheel and fingers lead in and out. */

import { sameValue } from "../../state/view_state.js";
import { h, update } from "../../ui/dom.js";
import { LABEL_GAP } from "../layout/bands.js";
import { squareAt } from "../layout/heads.js";
import { layersOf, layerUnder } from "./places.js";

/**
 * @import { Board } from "../board.js"
 * @import { Scene } from "../layout/layout.js"
 */

/** @param {HTMLElement} box  what scrolls @param {HTMLCanvasElement} canvas */
export function createScrolling(box, canvas) {
  const edges = ["labels", "answers"].map((side) =>
    h("canvas", { class: `edge at-${side}`, hidden: true, "aria-hidden": "true" }),
  );
  let scene = /** @type {Scene|null} */ (null);
  box.append(...edges);

  /** Where each edge begins in the picture, and its width. @param {Scene} of @returns {[number, number][]} */
  const parts = ({ bands: [{ columns, end }], width }) => [
    [0, columns[0].x0 - LABEL_GAP / 2],
    [end + 1, width - end - 1],
  ];
  const copy = () => {
    if (!scene) return;
    for (const [i, [x, width]] of parts(scene).entries()) {
      const edge = /** @type {HTMLCanvasElement} */ (edges[i]);
      const ratio = canvas.width / scene.width;
      Object.assign(edge, { width: Math.round(width * ratio), height: canvas.height });
      Object.assign(edge.style, { width: `${width}px`, height: `${scene.height}px` });
      const pen = /** @type {CanvasRenderingContext2D} */ (edge.getContext("2d"));
      pen.drawImage(canvas, Math.round(-x * ratio), 0);
    }
  };
  // What is done at an edge is done in the picture.
  for (const [i, edge] of edges.entries())
    for (const name of ["click", "pointermove"])
      edge.addEventListener(name, (event) => {
        if (!scene) return;
        const { offsetX, clientY } = /** @type {MouseEvent} */ (event);
        const clientX = canvas.getBoundingClientRect().left + parts(scene)[i][0] + offsetX;
        const at = { clientX, clientY, bubbles: true };
        canvas.dispatchEvent(name === "click" ? new MouseEvent(name, at) : new PointerEvent(name, at));
      });

  return {
    /** After each layout: the last layers are in sight, next to the answer. @param {Scene} placed @param {number} room */
    placed(placed, room) {
      const scrolls = placed.width > room + 1;
      const fresh = scrolls && scene === null;
      scene = scrolls ? placed : null;
      box.classList.toggle("scrolls", scrolls);
      canvas.style.width = scrolls ? `${placed.width}px` : "";
      for (const edge of edges) update(edge, { hidden: !scrolls });
      if (fresh) box.scrollLeft = placed.width;
    },
    painted: copy,
    /** Brings a layer of the first stack between the edges. @param {{x0: number, x1: number}} column */
    show({ x0, x1 }) {
      if (!scene) return;
      const [[, left], [, right]] = parts(scene);
      if (x0 - box.scrollLeft < left) box.scrollLeft = x0 - left - LABEL_GAP;
      else if (x1 - box.scrollLeft > box.clientWidth - right) box.scrollLeft = x1 + right - box.clientWidth;
    },
  };
}

// What the wheel and fingers mean: Ctrl or ⌘ and the wheel, and a pinch, lead in and out; a swipe, to the next layer.

/** A touch that moves this far across is a swipe. Pixels. */
const SWIPE = 40;

/** Turns of the wheel that follow each other this fast are one. Milliseconds. */
const ONE_TURN = 350;

/** Two fingers this much farther apart, or closer, lead in or out. */
const PINCH = 1.35;

/** @param {HTMLCanvasElement} canvas @param {Board} board */
export function listenToGestures(canvas, board) {
  listenToZoom(canvas, (inward, { clientX, clientY }) => {
    const { left, top } = canvas.getBoundingClientRect();
    if (inward) goIn(board, clientX - left, clientY - top);
    else board.actions?.back();
  });
  listenToSwipes(canvas, board);
}

/** Into the head at a point, or its layer. @param {Board} board @param {number} x @param {number} y */
function goIn({ scene, shown, actions }, x, y) {
  if (!scene || !shown) return;
  const square = squareAt(scene.squares, x, y);
  if (square) actions?.openHead(square);
  else if (!shown.open) actions?.zoom(layerUnder(scene, x, y));
}

/**
 * Calls `on` for each step in or out. @param {HTMLElement} element
 * @param {(inward: boolean, at: {clientX: number, clientY: number}) => void} on
 */
function listenToZoom(element, on) {
  let turned = 0;
  element.addEventListener(
    "wheel",
    (event) => {
      if (!(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      const now = performance.now();
      if (now - turned >= ONE_TURN) on(event.deltaY < 0, event);
      turned = now;
    },
    { passive: false },
  );
  let apart = NaN; // where the two fingers were
  element.addEventListener(
    "touchmove",
    (event) => {
      if (event.touches.length !== 2) return;
      event.preventDefault(); // the picture is zoomed, not the page
      const [a, b] = event.touches;
      const now = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
      if (Number.isNaN(apart)) apart = now;
      const ratio = now / apart;
      if (Math.max(ratio, 1 / ratio) < PINCH) return;
      apart = now;
      on(ratio > 1, { clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2 });
    },
    { passive: false },
  );
  element.addEventListener("touchend", () => (apart = NaN));
}

/** On a phone, a swipe opens the next layer or the one before. @param {HTMLCanvasElement} canvas @param {Board} board */
function listenToSwipes(canvas, board) {
  let [x, y] = [NaN, NaN];
  canvas.addEventListener("pointerdown", (event) => {
    [x, y] = event.pointerType === "mouse" ? [NaN, NaN] : [event.clientX, event.clientY];
  });
  canvas.addEventListener("pointerup", ({ clientX, clientY }) => {
    const [right, down] = [clientX - x, clientY - y];
    const { scene, actions } = board;
    if (!scene?.only || !(Math.abs(right) > Math.max(SWIPE, 2 * Math.abs(down)))) return;
    const layers = layersOf(scene);
    const at = layers.findIndex((one) => sameValue(one, scene.only));
    const next = layers[at + (right < 0 ? 1 : -1)];
    if (next) actions?.zoom(next);
  });
}
