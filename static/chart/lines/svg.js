/** A picture of lines as SVG nodes: tokens above and below, a line for each weight that is large enough. */

import { svg } from "../../ui/dom.js";
import { linePath, shiftOf } from "./layout.js";

/** @import { Box, Layout, Line } from "./layout.js" */

/** With more lines than this, those of the same head and hundredth of opacity are one path. */
const MANY = 1500;

/** Heads do not differ by colour alone. */
export const DASHES = [null, "7 4", "2 3", "12 3 2 3", "5 2", "1 5"];

/** The custom property with a series' colour; a single series has the page's accent colour. @param {number} i @param {number} count */
export const colourName = (i, count) => (count === 1 ? "--accent" : `--series-${i}`);

/**
 * The lines, of thickness `width`; the strongest are on top.
 * @param {Line[]} lines @param {Layout} layout @param {{above: "q"|"k", count: number, width: number}} look
 */
export function linePaths(lines, layout, { above, count, width }) {
  /** @type {Map<string|number, {line: Line, d: string[]}>} */
  const paths = new Map();
  const sorted = [...lines].sort((a, b) => a.weight - b.weight);
  sorted.forEach((line, i) => {
    const name = lines.length > MANY ? `${line.series} ${line.weight.toFixed(2)}` : i;
    const [up, down] = above === "q" ? [line.query, line.key] : [line.key, line.query];
    const d = linePath(layout.above[up].x, layout.below[down].x, layout, shiftOf(line.series, count));
    const known = paths.get(name);
    if (known) known.d.push(d);
    else paths.set(name, { line, d: [d] });
  });
  return [...paths.values()].map(({ line, d }) => pathNode(line, d, { count, width }));
}

/** @param {Line} line @param {string[]} d @param {{count: number, width: number}} look */
function pathNode({ series, query, key, weight }, d, { count, width }) {
  const one = d.length === 1 ? { query, key } : { lines: d.length };
  return svg("path", {
    d: d.join(""),
    fill: "none",
    "stroke-width": width,
    "stroke-opacity": Math.min(1, Math.round(weight * 1e4) / 1e4),
    "stroke-dasharray": DASHES[series % DASHES.length],
    style: { stroke: `var(${colourName(series, count)})` },
    dataset: { series, weight, ...one },
  });
}

/**
 * One row of tokens, each a button.
 * @param {Box[]} boxes
 * @param {{role: "q"|"k", chosen: number, title: string, nameOf: (index: number) => string}} row
 * @param {Layout} layout
 */
export function tokenRow(boxes, { role, chosen, title, nameOf }, { box, type }) {
  const nodes = boxes.map(({ x, y, width, label, index }) => {
    const attrs = {
      role: "button",
      tabindex: index === chosen ? 0 : -1,
      "aria-label": nameOf(index),
      "aria-pressed": index === chosen,
    };
    const style = { x: x - width / 2, y: y - box / 2, width, height: box, rx: 6 };
    return svg(
      "g",
      {
        class: index === chosen ? `node ${role}` : "node",
        ...attrs,
        dataset: { role, index, focus: `${role}${index}`, testid: "line-token" },
      },
      svg("rect", style),
      svg("text", { x, y: y + 4.5 * type, "text-anchor": "middle", "font-size": 13 * type }, label),
    );
  });
  return svg("g", { role: "toolbar", "aria-label": title, class: "row" }, nodes);
}

/**
 * Tokens that are parts of one character: a frame around them, and what they spell.
 * @param {Box[]} boxes @param {{start: number, end: number, text: string}[]} groups
 * @param {Layout} layout @param {boolean} above
 */
export function groupFrames(boxes, groups, { box, type }, above) {
  return groups.map(({ start, end, text }) => {
    const [first, last] = [boxes[start], boxes[end - 1]];
    const x = first.x - first.width / 2 - 2;
    const width = last.x + last.width / 2 + 2 - x;
    const edge = first.y - box / 2 - 2;
    const words = {
      x: x + width / 2,
      y: above ? edge - 5 : edge + box + 17 * type,
      "text-anchor": "middle",
      "font-size": 14 * type,
    };
    return svg(
      "g",
      { class: "chars", dataset: { testid: "line-group" } },
      svg("rect", { x, y: edge, width, height: box + 4, rx: 8 }),
      svg("text", words, text),
    );
  });
}

/** A row's title, at its beginning. @param {string} text @param {"q"|"k"} role @param {number} y @param {number} type */
export function rowTitle(text, role, y, type) {
  return svg("text", { x: 8, y, class: `title ${role}`, "font-size": 12 * type }, text);
}
