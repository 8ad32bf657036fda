/** A matrix as traces and a layout for the drawing library. */

import { cssColour } from "../colour.js";
import { cellsOf, numbersOf } from "./cells.js";
import { frameImage, hatchImage } from "./frame.js";
import { edgesOf, outlineOf, sumTicks, ticksOf, titlesOf } from "./marks.js";
import { colourScale } from "./scale.js";

/**
 * @param {import("./heatmap.js").Matrix} matrix
 * @param {import("./layout.js").Size} size
 * @param {HTMLElement} plot  keeps what the same numbers need again
 */
export function figureOf(matrix, size, plot) {
  const heat = {
    type: "heatmap",
    z: cellsOf(matrix, plot),
    zmin: matrix.scale.min,
    zmax: matrix.scale.max,
    colorscale: colourScale(matrix.scale),
    showscale: false,
    hoverinfo: "none", // heatmap_tip.js shows the words, at once
  };
  const numbers = numbersOf(matrix, size);
  // An axis is only drawn when something stands on it: the sums' axis has this.
  const sums = { type: "scatter", x: [], y: [], yaxis: "y2", hoverinfo: "skip" };
  return { data: [heat, numbers, matrix.sums && sums].filter(Boolean), layout: layoutOf(matrix, size) };
}

/** @param {import("./heatmap.js").Matrix} matrix @param {import("./layout.js").Size} size */
function layoutOf(matrix, size) {
  const panel = cssColour("--panel");
  const hatched = matrix.hatched ?? matrix.forbidden;
  return {
    width: size.width,
    height: size.height,
    margin: { ...size.margin, pad: 0, autoexpand: false },
    paper_bgcolor: panel,
    plot_bgcolor: panel,
    font: { family: cssColour("--mono"), size: size.font, color: cssColour("--ink") },
    hoverlabel: hoverLabel(),
    modebar: { bgcolor: "rgba(0,0,0,0)", color: cssColour("--ink-3"), activecolor: cssColour("--accent") },
    showlegend: false,
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom", // a finger scrolls the page
    xaxis: axisOf("x", matrix, size),
    yaxis: { ...axisOf("y", matrix, size), ...(matrix.square && { scaleanchor: "x" }) },
    ...(matrix.sums && { yaxis2: sumsAxis(matrix, size) }),
    images: [hatched && hatchImage(size), frameImage(size, matrix.shape)].filter(Boolean),
    shapes: [...edgesOf(matrix), ...outlineOf(matrix, size)],
    annotations: titlesOf(matrix, size),
  };
}

function hoverLabel() {
  return {
    bgcolor: cssColour("--ink"),
    bordercolor: cssColour("--ink"),
    font: { family: cssColour("--font"), size: 12.5, color: cssColour("--panel") },
    align: "left",
  };
}

function axisOf(name, matrix, size) {
  const axis = name === "x" ? matrix.cols : matrix.rows;
  return {
    range: size.view[name],
    minallowed: -0.5,
    maxallowed: axis.labels.length - 0.5,
    side: name === "x" ? "top" : "left",
    tickmode: "array",
    ...ticksOf(name, matrix, size),
    tickangle: name === "x" ? size.angle : 0,
    showticklabels: !axis.hidden,
    ticks: "",
    ticklabelstandoff: 6,
    ticklabeloverflow: "allow", // each is measured already: asking the browser again takes longer than the rest
    showgrid: false,
    zeroline: false,
    automargin: false,
  };
}

/** The sums stand on an axis of their own, so that they zoom with their rows. */
function sumsAxis(matrix, size) {
  const axis = axisOf("y", matrix, size);
  const place = { side: "right", overlaying: "y", matches: "y", showticklabels: true };
  const tickfont = { color: cssColour("--ink-3"), size: size.font - 1 };
  return { ...axis, ...place, ...sumTicks(matrix, size), tickfont };
}
