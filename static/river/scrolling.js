/** A river of many layers is wider than its place and scrolls sideways; its labels and answers stay in sight at both edges. */

import { h, update } from "../ui/dom.js";
import { LABEL_GAP } from "./layout/bands.js";

/** @import { Scene } from "./layout/layout.js" */

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
