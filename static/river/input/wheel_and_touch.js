/** What the wheel and fingers mean: Ctrl or ⌘ and the wheel, and a pinch, lead in and out; a swipe, to the next layer. */

import { sameValue } from "../../state/view_state.js";
import { squareAt } from "../layout/heads.js";
import { layersOf, layerUnder } from "./places.js";

/** @import { Board } from "../board.js" */

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
  if (!scene || !shown || shown.head) return;
  const square = squareAt(scene.squares, x, y);
  if (square) actions?.openHead(square);
  else if (!shown.open) actions?.zoom(layerUnder(scene, x, y));
}

/**
 * Calls `on` for each step in or out. @param {HTMLElement} element
 * @param {(inward: boolean, at: {clientX: number, clientY: number}) => void} on
 */
export function listenToZoom(element, on) {
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
