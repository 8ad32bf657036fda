/** All heads as one picture with their indices. Every cell of the pictures has its own pixels; where the trace is pooled, the title says what a cell is. And all tokens as one. */

import { paintHead } from "../chart/matrix/sheet.js";
import { cssColour, pixelTable } from "../chart/theme.js";
import { overviewOf } from "../model/description.js";
import { svg } from "../ui/dom.js";
import { attentionName } from "../ui/heads.js";
import { t } from "../ui/i18n.js";
import { fileScene, label, textWidth } from "./scene.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Token } from "../model/labels.js"
 */

// The tokens as a picture: text, id and bytes of each.

const ROW = 24;
const TOKEN_GAP = 26;
const COLUMNS = ["index", "text", "id", "bytes"];

/**
 * @param {Token[]} tokens
 * @param {string[]} labels
 * @param {{title: string, sentence: string, source: string}} caption
 */
export function tokenScene(tokens, labels, caption) {
  const rows = tokens.map(({ index, id, bytes, special }, i) => {
    return [String(index), labels[i], String(id), special ? "" : bytes.replace(/../g, "$& ").trim()];
  });
  const heads = COLUMNS.map((name) => t(`tokens.${name}`));
  const widths = heads.map((head, i) =>
    Math.max(textWidth(head, 12), ...rows.map((row) => textWidth(row[i], 13, "--mono"))),
  );
  const starts = widths.map((_, i) => widths.slice(0, i).reduce((sum, width) => sum + width + TOKEN_GAP, 0));
  const width = starts[3] + widths[3];
  const line = (/** @type {number} */ y) => svg("path", { d: `M0 ${y}H${width}`, stroke: cssColour("--line") });
  const nodes = [
    heads.map((head, i) => label(head, { x: starts[i], y: 16, colour: "--ink-2" })),
    rows.map((row, y) => [
      line((y + 1) * ROW),
      row.map((text, i) => label(text, { x: starts[i], y: (y + 1) * ROW + 17, size: 13, face: "--mono" })),
    ]),
  ];
  return fileScene(caption, { width, height: (rows.length + 1) * ROW, nodes: nodes.flat(3) });
}

const GAP = 8;
const SIDE = 96;
const INDEX = 22;
const NAME = 34; // above a group, if there are several

/**
 * @typedef {{id: string, name: string|null, layers: number, heads: number, top: number, pixels: number, w: number, h:
 * number, width: number, height: number}} Group
 */

/**
 * @param {ModelTrace} trace
 * @param {{title: string, sentence: string, source: string}} caption
 */
export function overviewScene(trace, caption) {
  const groups = groupsOf(trace);
  const width = Math.max(...groups.map((group) => group.width));
  const height = groups.reduce((sum, group) => sum + group.height, 0);
  return fileScene(caption, {
    width,
    height,
    nodes: [hatching(), groups.map((group) => nodesOf(trace, group))].flat(3),
  });
}

/** The place of each attention, one below the other. @param {ModelTrace} trace @returns {Group[]} */
function groupsOf({ attentions, model, picture }) {
  let below = 0;
  return attentions.filter(overviewOf).map(({ id, n_layer, n_head }) => {
    const { n_query, n_key } = /** @type {NonNullable<ReturnType<ModelTrace["picture"]>>} */ (picture(0, 0, id));
    const pixels = Math.max(1, Math.round(SIDE / Math.max(n_query, n_key))); // whole pixels per cell: always sharp
    const name = attentionName(model, id);
    const [w, h, top] = [pixels * n_key, pixels * n_query, below + (name ? NAME : 0)];
    const size = {
      width: INDEX + n_head * (w + GAP) - GAP,
      height: (name ? NAME : 0) + INDEX + n_layer * (h + GAP) - GAP,
    };
    below += size.height;
    return { id, name, layers: n_layer, heads: n_head, top, pixels, w, h, ...size };
  });
}

/** @param {ModelTrace} trace @param {Group} group */
function nodesOf(trace, { id, name, layers, heads, top, pixels, w, h, width }) {
  const look = { size: 12, colour: "--ink-2", anchor: "middle" };
  /** @param {number} count @param {(i: number) => {x: number, y: number}} place */
  const numbers = (count, place) => Array.from({ length: count }, (_, i) => label(String(i), { ...look, ...place(i) }));
  const left = (/** @type {number} */ i) => INDEX + i * (w + GAP);
  const first = (/** @type {number} */ i) => top + INDEX + i * (h + GAP);
  const size = { width: width - INDEX, height: layers * (h + GAP) - GAP };
  const tile = (/** @type {number} */ i) => [left(i % heads), first(Math.floor(i / heads))];
  const tiles = Array.from({ length: layers * heads }, (_, i) => tile(i)).map(([x, y]) =>
    svg("rect", { x, y, width: w, height: h, fill: "url(#hatch)", stroke: cssColour("--line") }),
  );
  return [
    name ? label(name, { x: 0, y: top - 8, size: 13, weight: 600 }) : [],
    tiles,
    svg("image", {
      x: INDEX,
      y: top + INDEX,
      ...size,
      href: paintAll(trace, id, { layers, heads, pixels, w, h, ...size }),
    }),
    numbers(heads, (i) => ({ x: left(i) + w / 2, y: top + INDEX - 7 })),
    numbers(layers, (i) => ({ x: INDEX / 2 - 3, y: first(i) + h / 2 + 4 })),
  ];
}

/**
 * One canvas with all heads of an attention; forbidden cells are transparent.
 * @param {ModelTrace} trace @param {string} id @param {Omit<Group, "id"|"name"|"top">} group
 * @returns {string} a PNG as a data URL
 */
function paintAll(trace, id, { layers, heads, pixels, w, h, width, height }) {
  const [sheet, one] = [document.createElement("canvas"), document.createElement("canvas")];
  Object.assign(sheet, { width, height });
  const context = /** @type {CanvasRenderingContext2D} */ (sheet.getContext("2d"));
  context.imageSmoothingEnabled = false;
  const table = pixelTable("weights");
  for (let layer = 0; layer < layers; layer++) {
    for (let head = 0; head < heads; head++) {
      const weights = /** @type {NonNullable<ReturnType<ModelTrace["picture"]>>} */ (trace.picture(layer, head, id));
      paintHead(one, weights, trace.mask(layer, head, id), table, [Infinity, Infinity]);
      context.drawImage(one, head * (w + GAP), layer * (h + GAP), one.width * pixels, one.height * pixels);
    }
  }
  return sheet.toDataURL("image/png");
}

/** The hatching of forbidden cells. */
function hatching() {
  const stroke = { stroke: cssColour("--line-2"), "stroke-width": 0.9 };
  const lines = svg("path", { d: "M0 4L4 0M-1 1L1 -1M3 5L5 3", ...stroke });
  return svg("defs", null, svg("pattern", { id: "hatch", width: 4, height: 4, patternUnits: "userSpaceOnUse" }, lines));
}
