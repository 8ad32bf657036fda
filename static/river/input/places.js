/** What is at a point of the picture, and the keyboard's place (a token in a layer): where keys lead, and what is there. No DOM. */

import { lineAt, REACH_OF_FINGER, THICK } from "../layout/lines.js";

/**
 * @import { Scene } from "../layout/layout.js"
 * @import { Line } from "../layout/lines.js"
 * @import { Open } from "../view_state.js"
 */

// What is at a point: a line, a row, an FFN, a layer.

/** The row of a band whose label or stream is at a point. @param {Scene} scene @param {number} x @param {number} y */
function rowAt({ bands }, x, y) {
  for (const [i, band] of bands.entries()) {
    const row = band.rows.findIndex((one) => Math.abs(one.y - y) <= one.height / 2);
    const { x0 } = band.columns[0];
    if (row >= 0 && x < x0 && x > x0 - 140) return { band: i, row };
  }
  return null;
}

/** The row at a point in the picture that has no name, as where names thin out: it is named while it is pointed at. @param {Scene} scene @param {number} x @param {number} y */
export function unnamedAt({ bands }, x, y) {
  for (const [i, { columns, rows, labelled }] of bands.entries()) {
    const row = rows.findIndex((one) => Math.abs(one.y - y) <= one.height / 2);
    const within = x >= columns[0].x0 && x < columns[columns.length - 1].x1;
    if (row >= 0 && within && !labelled.has(rows[row])) return { band: i, row };
  }
  return null;
}

/** The FFN at a point. @param {Scene} scene @param {number} x @param {number} y */
export const beadAt = ({ beads }, x, y) =>
  beads.find((one) => Math.hypot(one.x - x, one.y - y) <= Math.max(7, one.radius + 2)) ?? null;

/** What is at a point: a line before a label; in a strip, whose lines lie close together, only a thick line: elsewhere a click leads to the layer. @param {Scene} scene @param {number} x @param {number} y @param {boolean} [touched]  by a finger @returns {{line: Line|null, label: ReturnType<typeof rowAt>}} */
export function hitAt(scene, x, y, touched) {
  const { ghosts, isStrip } = scene;
  const lines = isStrip ? scene.lines.filter(({ width }) => width >= THICK) : scene.lines;
  const reach = touched ? REACH_OF_FINGER : undefined;
  const line = lineAt(ghosts, x, y, REACH_OF_FINGER) ?? lineAt(lines, x, y, reach);
  return { line, label: line ? null : rowAt(scene, x, y) };
}

/** The layer whose place in a phone's strip is at a point. @param {Scene} scene @param {number} x @param {number} y @returns {Open|null} */
export function stripAt({ strip }, x, y) {
  if (!strip || y > strip.height) return null;
  for (const { stack, columns } of strip.scene.bands) {
    const layer = columns.findIndex(({ x0, x1 }) => x >= x0 && x < x1);
    if (layer >= 0) return { stack, layer };
  }
  return null;
}

/** The layers in the order of the forward pass. @param {Scene} scene @returns {Open[]} */
export const layersOf = ({ bands: [answering, ...read] }) =>
  [...read, answering].flatMap(({ stack, columns }) => columns.map((_, layer) => ({ stack, layer })));

/** The layer whose title is at a point. @param {Scene} scene @param {number} x @param {number} y @returns {Open|null} */
export function titleAt({ bands }, x, y) {
  for (const { stack, columns, titles } of bands) {
    const layer = y < titles + 8 && y > titles - 20 ? columns.findIndex(({ x0, x1 }) => x >= x0 && x < x1) : -1;
    if (layer >= 0) return { stack, layer };
  }
  return null;
}

/** The layer whose column is at a point, from its name to its best guess; a phone draws one, which is open. @param {Scene} scene @param {number} x @param {number} y @returns {Open|null} */
export function columnAt({ bands, only, lens }, x, y) {
  if (only !== null) return null;
  for (const { stack, columns, titles, bottom } of bands) {
    const end = stack === bands[0].stack && lens > bottom ? lens + 8 : bottom; // a strip has none
    const layer = y > titles - 20 && y <= end ? columns.findIndex(({ x0, x1 }) => x >= x0 && x < x1) : -1;
    if (layer >= 0) return { stack, layer };
  }
  return null;
}

/** The place in the model whose word is at a point. @param {Scene} scene @param {number} x @param {number} y */
export const linkAt = ({ links }, x, y) =>
  links.find((one) => {
    const left = one.right ? one.x - one.width : one.x;
    return x >= left - 6 && x <= left + one.width + 6 && y >= one.y - 16 && y <= one.y + 8;
  }) ?? null;

/** The layer at a point, above or below its rows too. @param {Scene} scene @param {number} x @param {number} y @returns {Open|null} */
export function layerUnder({ bands }, x, y) {
  for (const { stack, columns, titles } of bands) {
    const layer = columns.findIndex(({ x0, x1 }) => x >= x0 && x < x1);
    if (layer >= 0 && y > titles - 20) return { stack, layer };
  }
  return null;
}

/**
 * @typedef {{band: number, row: number, layer: number}} Place
 */

/** The columns that a row passes: an encoder's run on above the decoder that reads it. @param {Scene} scene @param {number} band */
const columnsOf = ({ bands }, band) => [...bands[band].columns, ...(band > 0 ? bands[0].columns : [])];

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** Where an arrow key leads; null: another key. @param {Scene} scene @param {Place} place @param {string} key @returns {Place|null} */
export function placeAfterKey(scene, { band, row, layer }, key) {
  const { bands } = scene;
  const last = bands[band].rows.length - 1;
  if (key === "ArrowUp" && row === 0 && band === 0 && bands.length > 1) {
    return { band: 1, row: bands[1].rows.length - 1, layer: bands[1].columns.length + layer };
  }
  if (key === "ArrowDown" && row === last && band > 0) {
    return { band: 0, row: 0, layer: Math.max(0, layer - bands[band].columns.length) };
  }
  if (key === "Home") return { band, row, layer: 0 };
  if (key === "End") return { band, row, layer: columnsOf(scene, band).length - 1 };
  const step = STEPS[/** @type {keyof typeof STEPS} */ (key)];
  return step ? nearestPlace(scene, { band, row: row + step[0], layer: layer + step[1] }) : null;
}

/** The nearest place that there is. @param {Scene} scene @param {Place} place @returns {Place} */
export function nearestPlace(scene, place) {
  const band = Math.min(place.band, scene.bands.length - 1);
  /** @param {number} at @param {number} length */
  const within = (at, length) => Math.min(length - 1, Math.max(0, at));
  return {
    band,
    row: within(place.row, scene.bands[band].rows.length),
    layer: within(place.layer, columnsOf(scene, band).length),
  };
}

/** The widest line that leaves a token in a layer or comes to it, not counting its own stream. @param {Scene} scene @param {Place} place @returns {Line|null} */
export function widestAt(scene, { band, row, layer }) {
  const { from: token } = scene.bands[band].rows[row];
  const { x0 } = columnsOf(scene, band)[layer];
  const touching = scene.lines.filter(
    (line) =>
      !line.own &&
      line.x0 === x0 &&
      ((line.from === band && line.key === token) || (line.to === band && line.query === token)),
  );
  return touching.reduce(
    (best, line) => (best && best.share >= line.share ? best : line),
    /** @type {Line|null} */ (null),
  );
}

/** The layer of a column. @param {Scene} scene @param {Place} place */
export function layerAt({ bands }, { band, layer }) {
  const beyond = layer - bands[band].columns.length;
  return beyond < 0 ? { stack: bands[band].stack, layer } : { stack: bands[0].stack, layer: beyond };
}
