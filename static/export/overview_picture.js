/** All heads as one picture with their indices. Every cell keeps its own pixels: nothing is pooled here. */

import { cssColour, pixelTable } from "../lib/colour.js";
import { svg } from "../lib/dom.js";
import { paintHead } from "../lib/head_picture.js";
import { label, sceneOf } from "./scene.js";

const GAP = 8;
const SIDE = 96;
const INDEX = 22;

/**
 * @param {import("../data/model_trace.js").ModelTrace} trace
 * @param {{title: string, sentence: string, source: string}} caption
 */
export function overviewScene(trace, caption) {
  const n = trace.tokens.length;
  const pixels = Math.max(1, Math.round(SIDE / n)); // whole pixels a cell: sharp wherever it is shown
  const side = pixels * n;
  const step = side + GAP;
  const [width, height] = [INDEX + trace.nHead * step - GAP, INDEX + trace.nLayer * step - GAP];
  const href = paintAll(trace, { pixels, step, width: width - INDEX, height: height - INDEX });
  const middle = (i) => INDEX + i * step + side / 2;
  const look = { size: 12, colour: "--ink-2", anchor: "middle" };
  const counted = (count, place) => Array.from({ length: count }, (_, i) => label(String(i), { ...look, ...place(i) }));
  const nodes = [
    hatchBelow(trace, { side, step }),
    svg("image", { x: INDEX, y: INDEX, width: width - INDEX, height: height - INDEX, href }),
    counted(trace.nHead, (i) => ({ x: middle(i), y: INDEX - 7 })),
    counted(trace.nLayer, (i) => ({ x: INDEX / 2 - 3, y: middle(i) + 4 })),
  ];
  return sceneOf(caption, { width, height, nodes: nodes.flat() });
}

/** One canvas with all heads; forbidden cells are left see-through. @returns {string} a PNG as a data URL */
function paintAll(trace, { pixels, step, width, height }) {
  const [sheet, one] = [document.createElement("canvas"), document.createElement("canvas")];
  Object.assign(sheet, { width, height });
  const context = /** @type {CanvasRenderingContext2D} */ (sheet.getContext("2d"));
  context.imageSmoothingEnabled = false;
  const table = pixelTable("weights");
  for (let layer = 0; layer < trace.nLayer; layer++) {
    for (let head = 0; head < trace.nHead; head++) {
      paintHead(one, trace.pattern(layer, head), trace.mask(layer, head), table, Infinity);
      context.drawImage(one, head * step, layer * step, one.width * pixels, one.height * pixels);
    }
  }
  return sheet.toDataURL("image/png");
}

/** The hatching, a tile for each head. */
function hatchBelow({ nLayer, nHead }, { side, step }) {
  const stroke = { stroke: cssColour("--line-2"), "stroke-width": 0.9 };
  const lines = svg("path", { d: "M0 4L4 0M-1 1L1 -1M3 5L5 3", ...stroke });
  const pattern = svg("pattern", { id: "hatch", width: 4, height: 4, patternUnits: "userSpaceOnUse" }, lines);
  const tile = (i) => {
    const [x, y] = [INDEX + (i % nHead) * step, INDEX + Math.floor(i / nHead) * step];
    return svg("rect", { x, y, width: side, height: side, fill: "url(#hatch)", stroke: cssColour("--line") });
  };
  return [svg("defs", null, pattern), ...Array.from({ length: nLayer * nHead }, (_, i) => tile(i))];
}
