/** The keyboard's place, a token in a layer: where keys lead, and what is there. No DOM. */

/**
 * @import { Scene } from "../layout/layout.js"
 * @import { Line } from "../layout/lines.js"
 */

/**
 * @typedef {{band: number, row: number, layer: number}} Place
 */

/** The columns that a row passes: an encoder's run on above the decoder that reads it. @param {Scene} scene @param {number} band */
const columnsOf = ({ bands }, band) => [...bands[band].columns, ...(band > 0 ? bands[0].columns : [])];

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** Where an arrow key leads; null: another key. @param {Scene} scene @param {Place} place @param {string} key @returns {Place|null} */
export function moved(scene, { band, row, layer }, key) {
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
  return step ? inside(scene, { band, row: row + step[0], layer: layer + step[1] }) : null;
}

/** The nearest place that there is. @param {Scene} scene @param {Place} place @returns {Place} */
export function inside(scene, place) {
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
