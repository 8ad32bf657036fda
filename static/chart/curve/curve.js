/** Curves over steps as SVG, with places that can be chosen: a loss, a learning rate. Their numbers stand beside them. */

import { perRoot, replace, svg, update } from "../../ui/dom.js";
import { integer, significant } from "../../ui/format.js";
import { early, linear } from "./scale.js";

const MARGIN = { left: 58, right: 26, top: 12, bottom: 38 };

/**
 * @typedef {Object} Curve
 * @property {string} label  a description for screen readers
 * @property {[number, number][][]} lines  points; the second is dashed
 * @property {boolean} early  whether early steps are wider apart
 * @property {number} last  the last step of the axis
 * @property {string} title  of that axis
 * @property {[number, number][]} [dots]  places with a dot
 * @property {number|null} [at]  the step that is marked
 * @property {(step: number) => void} [onChoose]  of the nearest dot
 * @property {number} [height]
 * @property {number} [floor]  the lowest value of the other axis; by default the lowest there is
 */

const partsOf = perRoot((root) => {
  const picture = svg("svg", { class: "line-chart step-curve", role: "img" });
  root.append(picture);
  const parts = { root, picture, curve: /** @type {Curve|null} */ (null), width: 0 };
  picture.addEventListener("click", (event) => choose(parts, event.clientX));
  new ResizeObserver(() => parts.curve && root.clientWidth !== parts.width && paint(parts)).observe(root);
  return parts;
});

/** @param {HTMLElement} root @param {Curve} curve */
export function drawCurve(root, curve) {
  const parts = partsOf(root);
  parts.curve = curve;
  update(parts.picture, { "aria-label": curve.label });
  paint(parts);
}

function choose({ picture, curve, width }, clientX) {
  const x = (clientX - picture.getBoundingClientRect().left - MARGIN.left) / (width - MARGIN.left - MARGIN.right);
  const { place } = stepsOf(curve);
  const far = ([step]) => Math.abs(place(step) - x);
  const nearest = [...(curve.dots ?? [])].sort((a, b) => far(a) - far(b))[0];
  if (nearest) curve.onChoose?.(nearest[0]);
}

const stepsOf = (curve) => (curve.early ? early(curve.last) : linear(0, curve.last));

function paint(parts) {
  const { root, picture, curve } = parts;
  parts.width = root.clientWidth;
  if (!parts.width) return; // it is hidden
  const height = curve.height ?? 200;
  update(picture, { width: parts.width, height, viewBox: `0 0 ${parts.width} ${height}` });
  const [right, bottom] = [parts.width - MARGIN.right, height - MARGIN.bottom];
  const values = [...curve.lines.flat(), ...(curve.dots ?? [])].map(([, value]) => value);
  const [steps, high] = [stepsOf(curve), linear(curve.floor ?? Math.min(...values), Math.max(...values))];
  const x = (step) => MARGIN.left + steps.place(step) * (right - MARGIN.left);
  const y = (value) => bottom - high.place(value) * (bottom - MARGIN.top);
  const dots = (curve.dots ?? []).map(([step, value]) =>
    svg("circle", { cx: x(step), cy: y(value), r: step === curve.at ? 6 : 4 }),
  );
  const at = curve.at ?? null;
  replace(
    picture,
    high.ticks.map((tick) => [
      svg("line", { class: "grid", x1: MARGIN.left, x2: right, y1: y(tick), y2: y(tick) }),
      svg("text", { x: MARGIN.left - 8, y: y(tick) + 4, "text-anchor": "end" }, significant(tick, 2)),
    ]),
    at !== null && svg("line", { class: "here", x1: x(at), x2: x(at), y1: MARGIN.top, y2: bottom }),
    apart([...new Set([...steps.ticks, curve.last])], x).map((tick) =>
      svg("text", { x: x(tick), y: bottom + 17, "text-anchor": "middle" }, integer(tick)),
    ),
    svg("text", { class: "axis", x: (MARGIN.left + right) / 2, y: bottom + 33, "text-anchor": "middle" }, curve.title),
    curve.lines.map((line, i) => svg("g", { class: `line line-${i}` }, svg("path", { d: pathOf(line, x, y) }))),
    svg("g", { class: "line line-0" }, dots),
  );
}

/** Those whose numbers do not touch, the last one among them. @param {number[]} ticks @param {(step: number) => number} x */
function apart(ticks, x) {
  const kept = /** @type {number[]} */ ([]);
  for (const tick of [...ticks].reverse()) if (!kept.length || x(kept[0]) - x(tick) > 52) kept.unshift(tick);
  return kept;
}

const pathOf = (line, x, y) =>
  line.map(([step, value], i) => `${i ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`).join("");
