/** The three Transformer shapes as small pictures: stacks, what each row may see, and what comes out; a model’s shape in words. */

import { svg } from "./dom.js";
import { sizeOf } from "./heads.js";
import { hasString, t } from "./i18n.js";

const SIDE = 14;
const CELLS = 4;

/** @param {string} family @returns {SVGElement|null} decorative: the text beside it says the same */
export function familyShape(family) {
  const draw = { "decoder-only": decoder, "encoder-only": encoder, "encoder-decoder": both }[family];
  return draw
    ? svg("svg", { class: "shape", viewBox: "0 0 74 26", width: 74, height: 26, "aria-hidden": true }, draw())
    : null;
}

/** One stack whose rows see the tokens before them; it continues the text. */
const decoder = () => [stack(2, 5), mask(6, 6, true), arrow(27, 13), tokens(40)];
/** One stack whose rows see everything; its output is a class. */
const encoder = () => [
  stack(2, 5),
  mask(6, 6, false),
  svg("circle", { class: "special", cx: 8, cy: 3, r: 2 }),
  arrow(27, 13),
  svg("rect", { class: "out", x: 40, y: 8, width: 18, height: 10, rx: 5 }),
];
/** Two stacks, and the second looks at the first. */
const both = () => [stack(2, 5), mask(6, 6, false), arrow(26, 13), stack(38, 5), mask(42, 6, true), arrow(62, 13, 8)];

const stack = (/** @type {number} */ x, /** @type {number} */ y) =>
  svg("rect", { class: "stack", x, y: y - 3, width: SIDE + 8, height: SIDE + 8, rx: 4 });

/** The allowed cells, one for every (query, key). @param {number} x @param {number} y @param {boolean} causal */
function mask(x, y, causal) {
  const size = SIDE / CELLS;
  const cells = Array.from({ length: CELLS * CELLS }, (_, i) => [Math.floor(i / CELLS), i % CELLS]);
  const seen = cells.filter(([row, col]) => !causal || col <= row);
  return seen.map(([row, col]) =>
    svg("rect", { class: "cell", x: x + col * size, y: y + row * size, width: size - 0.7, height: size - 0.7 }),
  );
}

const arrow = (/** @type {number} */ x, /** @type {number} */ y, length = 10) =>
  svg("path", { class: "arrow", d: `M${x} ${y}h${length}m-3 -3l3 3l-3 3` });
const tokens = (/** @type {number} */ x) =>
  [0, 1, 2].map((i) =>
    svg("rect", { class: i === 2 ? "out" : "token", x: x + i * 10, y: 9, width: 8, height: 8, rx: 2 }),
  );

/** What a model's card says of the one that it was trained like. @param {any} model @returns {{model: string, differs: Record<string, any>}|undefined} */
export const baselineOf = (model) => model.card?.trained_like;

/** In what a model differs from the one that it was trained like. @param {any} model */
export function differenceOf(model) {
  const { differs, model: like } = baselineOf(model) ?? { differs: {}, model: "" };
  if (model.name === like) return shapeOf(model);
  // A mechanism that knows distances needs no positions: their absence says nothing more.
  const settings = "mechanism" in differs ? ["mechanism"] : Object.keys(differs);
  return settings
    .map((setting) => {
      const key = `header.differs.${setting}.${differs[setting]}`;
      return hasString(key) ? t(key) : `${setting}: ${differs[setting]}`;
    })
    .join(" · ");
}

/** "decoder-only · 6 layers × 8 heads · d_model 256", and whether layers share their weights. @param {any} model */
export function shapeOf(model) {
  const shape = t("header.shape", { d_model: model.d_model, family: familyName(model.family), ...sizeOf(model) });
  return [shape, sharedLayers(model)].filter(Boolean).join(" · ");
}

/** That several layers have the same weights, as in ALBERT (Lan et al. 2020); empty if each has its own. @param {any} model */
function sharedLayers(model) {
  const [names = []] = (model.description?.attentions ?? []).map((/** @type {any} */ one) => one.parameters.w_q);
  const n = new Set(names).size;
  if (n === names.length) return "";
  return n === 1 ? t("header.shared_layers") : t("header.shared_layers_sets", { n });
}

/** @param {string} family */
export function familyName(family) {
  const key = `header.family.${family}`;
  return hasString(key) ? t(key) : family;
}
