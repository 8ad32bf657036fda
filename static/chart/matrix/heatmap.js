/**
 * One labelled matrix: a picture, a readout below it, and the pointer and keys that choose a cell. The picture is a
 * heatmap on numeric axes, so that a token that occurs twice has two rows.
 */

import { h, perRoot, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { announce } from "../pictures.js";
import * as plotly from "../plotly.js";
import { drawTable } from "../table.js";
import { configOf } from "./config.js";
import { figureOf } from "./figure.js";
import { followKeys, followPointer } from "./input.js";
import { measure } from "./layout.js";
import { showReadout } from "./readout.js";
import { makeTip, showTip } from "./tip.js";
import { following, snapped, wholeOf } from "./view.js";

/**
 * @typedef {Object} Axis
 * @property {string[]} labels  in full; the picture shortens and thins them
 * @property {string} title
 * @property {"q"|"k"|"v"|""} role  whose colour it has
 * @property {boolean} [hidden]  a neighbour shows the same labels
 * @property {{index: number, role: string}} [also]  another label to light, for such a neighbour
 * @property {(index: number) => boolean} [faded]  labels that only fill a place
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
 * @property {import("./scale.js").Scale} scale
 * @property {(value: number) => string} cellText  a value, for a small cell
 * @property {(row: number, col: number) => string[]} hover  one cell, in lines
 * @property {(row: number, col: number) => string} [tableText]  one cell of the table: by default its number
 * @property {(row: number, col: number) => (Node|string)[]} describe  one cell in a sentence
 * @property {{row: number, col: number, span: "cell"|"row", role: "q"|"k"|"v"}} chosen
 * @property {(row: number, col: number) => void} onChoose
 * @property {boolean} [square]  cells as wide as high
 * @property {boolean} [sums]  the sum of each row, on the margin
 * @property {{title: string, text: (row: number) => string}} [margin]  something else on that margin
 * @property {{row?: number, col?: number}} [edges]  a dashed line behind so many rows, or columns
 * @property {string} filename
 */

const partsOf = perRoot(build);

/** Draw `matrix` into `root`, or change what is there. @param {HTMLElement} root @param {Matrix} matrix */
export function drawMatrix(root, matrix) {
  const parts = partsOf(root);
  parts.matrix = matrix;
  const label = `${matrix.label}. ${t("matrix.keys")}`;
  update(parts.frame, { "aria-label": label, "aria-busy": true, dataset: { matrix: matrix.id } });
  showReadout(parts, null);
  drawTable(root, matrix);
  render(parts);
}

/** Start loading what draws, before anyone needs it. */
export const prepare = plotly.preload;

let counted = 0;

/** The elements of one matrix, empty, and their listeners. @param {HTMLElement} root */
function build(root) {
  const id = `readout-${counted++}`;
  const plot = h("div", { class: "matrix-plot" });
  const tip = makeTip();
  const frame = h(
    "div",
    { class: "matrix", tabindex: 0, role: "application", "aria-describedby": id, dataset: { testid: "matrix" } },
    plot,
    Object.values(tip),
  );
  const readout = h("p", { class: "readout", id, "aria-live": "polite", dataset: { testid: "readout" } });
  root.append(frame, readout);
  const parts = { root, frame, plot, tip, readout, matrix: null, size: null, view: null, drawn: null };
  parts.lookAt = (view) => lookAt(parts, view);
  followKeys(frame, parts);
  announce(frame, () => parts.drawn && { kind: "matrix", content: parts.drawn, plot });
  new ResizeObserver(() => parts.matrix && root.clientWidth !== parts.size?.width && render(parts)).observe(root);
  return parts;
}

/** Draw the newest matrix; while the library is still on its way, only the last call draws. */
async function render(parts) {
  const turn = (parts.turn = (parts.turn ?? 0) + 1);
  try {
    await plotly.load();
    if (parts.drawn && onlyChosen(parts.drawn, parts.matrix)) await painted(); // words first: they answer in a tenth of the time
    if (turn !== parts.turn) return; // a newer one draws
    await paint(parts);
    if (turn === parts.turn) update(parts.frame, { "aria-busy": false });
    if (parts.failed) parts.failed = parts.failed.remove();
  } catch (error) {
    fail(parts, error);
  }
}

/** Whether the same picture has another cell chosen. */
function onlyChosen(before, { values, id, chosen }) {
  return (
    before.values === values &&
    before.id === id &&
    (before.chosen.row !== chosen.row || before.chosen.col !== chosen.col)
  );
}

/** Once the browser has painted what there is. */
function painted() {
  return new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
}

async function paint(parts) {
  const { matrix, plot, root } = parts;
  if (root.clientWidth === 0) return void (parts.size = null); // nobody sees it: drawn when it has a width again
  parts.view = viewOf(parts.view, parts.drawn, matrix);
  parts.drawn = matrix;
  parts.size = measure(matrix, root.clientWidth, parts.view ?? wholeOf(matrix.shape));
  const { data, layout } = figureOf(matrix, parts.size, plot);
  parts.frame.style.height = `${parts.size.height}px`;
  await plotly.react(plot, data, layout, configOf(parts));
  showTip(parts.tip, parts.hovered, parts); // where the cells are now
  parts.following ??= followPointer(parts, (cell) => showReadout(parts, cell)); // only now is there anything to hear
}

/** Show a part of the matrix, or (null) the whole. @param {import("./view.js").View|null} view */
function lookAt(parts, view) {
  parts.view = view && snapped(view);
  render(parts);
}

function fail(parts, error) {
  console.error(error);
  parts.failed?.remove();
  const retry = h("button", { class: "btn", type: "button", on: { click: () => render(parts) } }, t("matrix.retry"));
  const words = t("matrix.failed", { message: error.message });
  parts.failed = h("div", { class: "matrix-error", role: "alert" }, h("p", null, words), retry);
  parts.frame.append(parts.failed);
}

/** A zoom outlives another head and follows another choice; another text is shown whole. */
function viewOf(view, before, { shape, chosen }) {
  if (!view || before.shape.some((count, i) => count !== shape[i])) return null;
  const moved = before.chosen.row !== chosen.row || before.chosen.col !== chosen.col;
  return moved ? following(view, chosen, shape) : view;
}
