/**
 * One labelled matrix: a picture, a readout below it, and the pointer and keys that choose a cell. The picture is a
 * heatmap on numeric axes, so that a token that occurs twice has two rows.
 */

import { cellAt, followKeys, followPointer, makeMarkers, showMarkers } from "./heatmap_input.js";
import { configOf } from "./heatmap_config.js";
import { figureOf } from "./heatmap_figure.js";
import { measure } from "./heatmap_layout.js";
import { h, perRoot, replace, setText, update } from "./dom.js";
import { t } from "./i18n.js";
import * as plotly from "./plotly.js";

/**
 * @typedef {Object} Axis
 * @property {string[]} labels  in full; the picture shortens and thins them
 * @property {string} title
 * @property {"q"|"k"|"v"|""} role  whose colour it has
 * @property {boolean} [hidden]  a neighbour shows the same labels
 * @property {{index: number, role: string}} [also]  another label to light, for such a neighbour
 *
 * @typedef {Object} Matrix
 * @property {string} id  `data-matrix`, and part of an export's file name
 * @property {string} label  what it is, for those who do not see it
 * @property {Float32Array|Uint8Array} values  row after row
 * @property {[number, number]} shape  rows, columns
 * @property {Uint8Array|null} forbidden  not 0: no colour there, the hatching shows
 * @property {boolean} [hatched]  hatch also where a see-through colour lies: by default where cells are forbidden
 * @property {string} [ink]  of the numbers in the cells: by default what can be read on each
 * @property {Axis} rows
 * @property {Axis} cols
 * @property {import("./heatmap_scale.js").Scale} scale
 * @property {(value: number) => string} cellText  a value, for a small cell
 * @property {(row: number, col: number) => string[]} hover  one cell, in lines
 * @property {(row: number, col: number) => (Node|string)[]} describe  one cell in a sentence
 * @property {{row: number, col: number, span: "cell"|"row", role: "q"|"k"|"v"}} chosen
 * @property {(row: number, col: number) => void} onChoose
 * @property {boolean} [square]  cells as wide as high
 * @property {boolean} [sums]  the sum of each row, on the margin
 * @property {string} filename
 */

const partsOf = perRoot(build);

/** Draw `matrix` into `root`, or change what is there. @param {HTMLElement} root @param {Matrix} matrix */
export function drawMatrix(root, matrix) {
  const parts = partsOf(root);
  parts.matrix = matrix;
  update(parts.frame, { "aria-label": `${matrix.label}. ${t("matrix.keys")}`, dataset: { matrix: matrix.id } });
  showReadout(parts, null);
  render(parts);
}

/** Start loading what draws, before anyone needs it. */
export const prepare = plotly.preload;

let counted = 0;

/** The elements of one matrix, empty, and their listeners. @param {HTMLElement} root */
function build(root) {
  const id = `readout-${counted++}`;
  const plot = h("div", { class: "matrix-plot" });
  const markers = makeMarkers();
  const frame = h(
    "div",
    { class: "matrix", tabindex: 0, role: "application", "aria-describedby": id, dataset: { testid: "matrix" } },
    plot,
    markers.row,
    markers.col,
  );
  const readout = h("p", { class: "readout", id, "aria-live": "polite", dataset: { testid: "readout" } });
  root.append(frame, readout);
  const parts = { root, frame, plot, markers, readout, matrix: null, size: null, view: null, drawn: null, listening: false };
  parts.lookAt = (view) => lookAt(parts, view);
  followKeys(frame, parts);
  new ResizeObserver(() => parts.matrix && root.clientWidth !== parts.size?.width && render(parts)).observe(root);
  return parts;
}

/** Draw the newest matrix; while the library is still on its way, only the last call draws. */
async function render(parts) {
  const turn = (parts.turn = (parts.turn ?? 0) + 1);
  try {
    await plotly.load();
    if (turn !== parts.turn || parts.root.clientWidth === 0) return; // a newer one draws, or nobody sees it
    await paint(parts);
    if (parts.failed) parts.failed = parts.failed.remove();
  } catch (error) {
    fail(parts, error);
  }
}

async function paint(parts) {
  const { matrix, plot } = parts;
  if (parts.drawn && !sameShape(parts.drawn, matrix)) parts.view = null; // a zoom outlives a choice, not another text
  parts.drawn = matrix;
  parts.size = measure(matrix, parts.root.clientWidth, parts.view);
  const { data, layout } = figureOf(matrix, parts.size, plot);
  parts.frame.style.height = `${parts.size.height}px`;
  await plotly.react(plot, data, layout, configOf(parts));
  if (parts.listening) return;
  parts.listening = true;
  followPointer(parts, {
    hover: (cell) => showReadout(parts, cell),
    zoom: (view) => lookAt(parts, view),
  });
}

/** Show a part of the matrix, or (null) the whole. @param {import("./heatmap_layout.js").Size["view"]|null} view */
function lookAt(parts, view) {
  parts.view = view;
  render(parts);
}

/** What is under the pointer, else what is chosen: in words below, and lit on both axes. */
function showReadout(parts, cell) {
  const { matrix, readout, markers } = parts;
  const { row, col } = cell ?? matrix.chosen;
  // Only a choice is read aloud: a moving pointer would talk without end.
  update(readout, {
    "aria-live": cell ? "off" : "polite",
    dataset: { row, col, value: matrix.values[row * matrix.shape[1] + col], ...cellAt(matrix, row, col) },
  });
  const words = matrix.describe(row, col);
  if (readout.textContent !== words.map((word) => word.textContent ?? word).join("")) replace(readout, ...words);
  showMarkers(markers, cell, parts);
}

function fail(parts, error) {
  console.error(error);
  parts.failed?.remove();
  const retry = h("button", { class: "btn", type: "button", on: { click: () => render(parts) } }, t("matrix.retry"));
  parts.failed = h("div", { class: "matrix-error", role: "alert" }, h("p", null), retry);
  setText(parts.failed.firstChild, t("matrix.failed", { message: error.message }));
  parts.frame.append(parts.failed);
}

function sameShape(a, b) {
  return a.shape[0] === b.shape[0] && a.shape[1] === b.shape[1];
}
