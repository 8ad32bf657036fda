/** Puts a scene on its canvas, as sharp as the screen is, and says how much room there is. */

import { drawScene } from "./draw.js";
import { currentLook, toneOf } from "./look.js";
import { effectOf } from "./told.js";
import { nameText } from "./words.js";

/** @typedef {import("./board.js").Board} Board  @typedef {import("./board.js").Shown} Shown */

/** Below this width the picture is drawn for a phone. */
const PHONE = 700;

/** @param {HTMLCanvasElement} canvas */
const penOf = (canvas) => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));

/** @param {HTMLCanvasElement} canvas @param {Board} board */
export function paint(canvas, { shown, scene, hovered, cursor }) {
  if (!shown || !scene) return;
  const dpr = devicePixelRatio;
  const [width, height] = [Math.round(scene.width * dpr), Math.round(scene.height * dpr)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  canvas.style.height = `${scene.height}px`;
  const pen = penOf(canvas);
  pen.setTransform(dpr, 0, 0, dpr, 0, 0);
  pen.clearRect(0, 0, scene.width, scene.height);
  const look = currentLook();
  const { told, bars } = shown;
  const measured = (told.measured?.effects.size ?? 0) > 0;
  /** @param {import("./lines.js").Line} line */
  const tone = (line) => toneOf(look.colours, measured, effectOf(told, line)?.delta, line.shown);
  drawScene(pen, scene, { ...look, names: told.names, bars, tone, hovered, cursor });
}

/** The room that a window has for the picture. @param {HTMLCanvasElement} canvas @param {Shown} shown @param {number} width @param {Set<string>} unfolded @returns {import("./layout.js").Frame} */
export function frameOf(canvas, { told: { rolled, names }, bars }, width, unfolded) {
  const phone = width < PHONE;
  const { type, font } = currentLook();
  const pen = penOf(canvas);
  pen.font = `700 ${15 * type}px ${font}`;
  /** @param {import("./words.js").Name[]} some */
  const widest = (some) => Math.max(...some.map((name) => pen.measureText(nameText(name)).width + 3));
  const labels = names.map((some) => Math.min((phone ? 60 : 130) * type, Math.max(30, widest(some))));
  const opened = rolled.map(({ river: { stack } }) =>
    [...unfolded].filter((one) => one.startsWith(`${stack} `)).map((one) => Number(one.slice(stack.length + 1))),
  );
  return {
    ...{ width, labels, type, answers: bars.length, unfolded: opened },
    room: Math.min(440, Math.max(240, innerHeight * 0.44)),
    right: (phone ? 96 : 190) * type,
    fat: phone ? 36 : 44,
  };
}
