/** The same matrix turns into the next: the cells fade from one step's into the other's, at their places. */

const MILLISECONDS = 260;

/**
 * Lets the cells that `place` shows now fade while `draw` puts others there.
 * @param {HTMLElement} place @param {() => void} draw
 */
export function morphing(place, draw) {
  const before = /** @type {HTMLCanvasElement|null} */ (place.querySelector("canvas.sheet"));
  const still = before && before.clientWidth > 0 && !calm() ? copyOf(before) : null;
  draw();
  if (!still) return;
  before?.after(still);
  const fading = still.animate([{ opacity: 1 }, { opacity: 0 }], { duration: MILLISECONDS, easing: "ease-in-out" });
  fading.onfinish = fading.oncancel = () => still.remove();
}

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** @param {HTMLCanvasElement} canvas */
function copyOf(canvas) {
  const copy = /** @type {HTMLCanvasElement} */ (canvas.cloneNode());
  copy.classList.replace("sheet", "fading");
  copy.getContext("2d")?.drawImage(canvas, 0, 0);
  return copy;
}
