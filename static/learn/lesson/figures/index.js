/**
 * Pictures that only lessons have, by name. Each is drawn into `root` with numbers of the live model, except for `arrows`,
 * a toy that says so. What would answer the step's question has the class `tells`: it is hidden until the reader has
 * guessed.
 *
 * @typedef {(root: HTMLElement, live: Live, options: any) => void|Promise<void>} Figure
 */

import { h, replace, setText, svg, update } from "../../../ui/dom.js";
import { number } from "../../../ui/format.js";
import { t } from "../../../ui/i18n.js";
import { drawGaze, drawPassed, drawProducts, drawSoftmax, drawVariance } from "./attention.js";
import { drawDepth, drawSpread, drawVectors } from "./stream.js";

/** @import { Live } from "../live.js" */

/** A toy: a query and three keys as arrows of two dimensions, which the reader drags. Its arithmetic is real. */
const REACH = 4; // the plane shows −4 to 4
const STEP = 0.25;
const FULL = 20; // a score with a bar of full length
/** @typedef {{name: string, role: "q"|"k", x: number, y: number}} Arrow */

/** @returns {Arrow[]} */
const start = () => [
  { name: "q", role: "q", x: 2.5, y: 1.5 },
  { name: "k₁", role: "k", x: 1, y: 3 },
  { name: "k₂", role: "k", x: 3, y: -1 },
  { name: "k₃", role: "k", x: -2.5, y: -1.5 },
];

/** @type {Figure} */
function drawArrows(root) {
  const arrows = start();
  const table = h("div", { class: "toy-sums", "aria-live": "polite" });
  const plane = svg("svg", { viewBox: "-4.6 -4.6 9.2 9.2", class: "toy-plane", role: "group" });
  const drawn = arrows.map((arrow) => arrowNode(arrow, plane, show));
  replace(plane, grid(), ...drawn.map(({ node }) => node));
  const note = h("p", { class: "toy-note" }, t("lesson.toy.note"));
  replace(root, h("div", { class: "toy" }, plane, h("div", null, table, note)));

  function show() {
    for (const one of drawn) one.place();
    const [q, ...keys] = arrows;
    const scores = keys.map(({ x, y }) => q.x * x + q.y * y);
    const best = Math.max(...scores);
    replace(
      table,
      keys.map((key, i) => line(q, key, scores[i], scores[i] === best)),
    );
  }
  show();
}

/** @param {Arrow} q @param {Arrow} key @param {number} score @param {boolean} best */
function line(q, key, score, best) {
  const sum = `${number(q.x, 2)}·${number(key.x, 2)} + ${number(q.y, 2)}·${number(key.y, 2)}`;
  return h(
    "div",
    { class: best ? "toy-line best" : "toy-line" },
    h("span", { class: "toy-name" }, h("b", { class: "q" }, "q"), "·", h("b", { class: "k" }, key.name)),
    h("span", { class: "toy-sum mono" }, sum.replace(/·−([\d.]+)/g, "·(−$1)")),
    h("b", { class: "toy-score mono" }, `= ${number(score, 2)}`),
    h(
      "span",
      { class: "toy-bar" },
      h("i", { style: { width: `${Math.min(100, Math.max(0, (100 * score) / FULL))}%` } }),
    ),
    h("span", { class: "toy-best" }, best ? t("lesson.toy.best") : ""),
  );
}

const grid = () =>
  svg(
    "g",
    { class: "toy-grid", "aria-hidden": "true" },
    Array.from({ length: 2 * REACH + 1 }, (_, i) => i - REACH).map((at) => [
      svg("line", { x1: at, x2: at, y1: -REACH, y2: REACH, class: at ? null : "axis" }),
      svg("line", { y1: at, y2: at, x1: -REACH, x2: REACH, class: at ? null : "axis" }),
    ]),
  );

/** @param {Arrow} arrow @param {any} plane @param {() => void} changed */
function arrowNode(arrow, plane, changed) {
  const line = svg("line", { x1: 0, y1: 0 });
  const tip = svg("circle", { r: 0.2 });
  const grip = svg("circle", { r: 0.62, class: "grip" });
  const label = svg("text");
  setText(label, arrow.name);
  const attrs = { class: `toy-arrow ${arrow.role}`, tabindex: 0, role: "slider", "aria-label": arrow.name };
  const node = svg("g", attrs, line, grip, tip, label);
  const go = (/** @type {number} */ x, /** @type {number} */ y) => {
    const kept = (/** @type {number} */ at) => Math.max(-REACH, Math.min(REACH, Math.round(at / STEP) * STEP));
    Object.assign(arrow, { x: kept(x), y: kept(y) });
    changed();
  };
  follow(node, plane, go, arrow);
  function place() {
    const [x, y] = [arrow.x, -arrow.y];
    const far = Math.hypot(x, y) || 1;
    update(line, { x2: x, y2: y });
    for (const dot of [tip, grip]) update(dot, { cx: x, cy: y });
    update(label, { x: x + (0.55 * x) / far, y: y + (0.55 * y) / far + 0.18 });
    const text = `(${number(arrow.x, 2)}, ${number(arrow.y, 2)})`;
    update(node, { "aria-valuetext": text, "aria-valuenow": arrow.x });
  }
  return { node, place };
}

const KEYS = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] };

/** Moves it with the pointer, or with the arrow keys. @param {any} node @param {any} plane @param {(x: number, y: number) => void} go @param {Arrow} arrow */
function follow(node, plane, go, arrow) {
  node.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    node.setPointerCapture(event.pointerId);
    event.preventDefault();
    node.focus();
  });
  node.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    if (!node.hasPointerCapture(event.pointerId)) return;
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(plane.getScreenCTM().inverse());
    go(at.x, -at.y);
  });
  node.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const by = KEYS[/** @type {keyof typeof KEYS} */ (event.key)];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    go(arrow.x + by[0], arrow.y + by[1]);
  });
}

/** @type {Object<string, Figure>} */
export const FIGURES = {
  arrows: drawArrows,
  depth: drawDepth,
  gaze: drawGaze,
  passed: drawPassed,
  products: drawProducts,
  softmax: drawSoftmax,
  spread: drawSpread,
  variance: drawVariance,
  vectors: drawVectors,
};
