/** What stands beside the lines: heads, an encoder's streams, FFNs, what is cut. No DOM. */

import { edgeKey } from "../../model/cuts.js";
import { squaresOf } from "./head_squares.js";

/**
 * @typedef {import("./layout.js").Band} Band  @typedef {import("./layout.js").Frame} Frame  @typedef {import("./layout.js").Scene} Scene
 * @typedef {import("./layout.js").Stream} Stream  @typedef {import("./layout.js").Bead} Bead
 * @typedef {import("../../model/reach.js").Reach} Reach  @typedef {import("./rows.js").Row} Row  @typedef {import("./lines.js").Line} Line
 */

/** Below the last head. */
export const BELOW = 8;

/** @type {ReturnType<typeof squaresOf>} */
const NONE = { squares: [], more: [] };

/** Less height than this shows no head that can be read. */
const LEAST = 64;

/**
 * The height of heads that begin at `y`: what the first screen leaves. If that is too little for the answering stack's,
 * which begin at `top`, all are as high as they want.
 * @param {number} y @param {number} top @param {Frame} frame
 */
function heightFrom(y, top, { headRoom = 0, fold = 0 }) {
  return fold - top - BELOW < LEAST ? headRoom : Math.min(fold - y - BELOW, headRoom);
}

/** The squares of all heads: below the rows of their stack, each layer's in its column. @param {Band[]} bands @param {Frame} frame @param {number} top */
export function headsOf(bands, frame, top) {
  const { heads = [], only = null, open = null, width } = frame;
  const parts = heads.flatMap(({ stack, order, ...head }) => {
    const band = /** @type {Band} */ (bands.find((one) => one.stack === stack));
    const y = band === bands[0] || only !== null ? top : band.bottom + 14;
    const height = heightFrom(y, top, frame);
    if (only !== null) {
      const { layer } = only;
      const area = { x: 2, y: y + 16, width: width - 4, height };
      return band.stack === only.stack ? [squaresOf(area, { ...head, layer, order: order(layer) })] : [];
    }
    return band.columns.map(({ x0, x1 }, layer) =>
      open && !(open.stack === band.stack && open.layer === layer)
        ? NONE
        : squaresOf({ x: x0 + 10, y, width: x1 - x0 - 20, height }, { ...head, layer, order: order(layer) }),
    );
  });
  return { squares: parts.flatMap(({ squares }) => squares), more: parts.flatMap(({ more }) => more) };
}

/** What of an encoder is still to be read, above each layer of the decoder. @param {Reach} reader @param {Reach} read @param {Band} to @param {Band} from @param {number} fat @returns {Stream[]} */
export function streamsOf({ taken }, { at, river }, to, from, fat) {
  const rest = Float64Array.from(at[river.layers]);
  const start = from.columns[from.columns.length - 1].x1;
  return to.columns.flatMap(({ x0 }, layer) => {
    const left = layer ? to.columns[layer - 1].x0 : start;
    const streams = from.rows.map((row) => {
      const width = rest.slice(row.from, row.to).reduce((sum, part) => sum + part, 0) * fat;
      return { x0: left, x1: x0, y: row.y, width };
    });
    taken?.[layer].forEach((part, i) => (rest[i] -= part));
    return streams.filter(({ x0, x1, width }) => x1 > x0 && width > 0.05);
  });
}

/** What the FFNs of the chosen row add, by area. @param {Reach} reach @param {Band} band @param {number} row @returns {Bead[]} */
export function beadsOf({ river: { ffn, tokens } }, { columns, rows, index }, row) {
  if (!ffn) return [];
  return columns.flatMap(({ x0, x1 }, layer) => {
    if (x0 === x1) return [];
    const ratio = ffn[layer * tokens + row];
    const radius = Math.min(7, 4 * Math.sqrt(ratio));
    return { x: x1 - Math.min(14, (x1 - x0) / 4), y: rows[index[row]].y, radius, ratio, layer };
  });
}

/**
 * Where the cut edges were, as wide as they were in the uncut run.
 * @param {import("../../model/cuts.js").Edge[]} cuts @param {Scene} scene @param {Scene} before  the uncut run's @param {Reach[]} rolled
 * @returns {Line[]}
 */
export function ghostsOf(cuts, scene, before, rolled) {
  const flows = rolled.flatMap((reach) => reach.flows.map(({ flow }) => ({ flow, river: reach.river })));
  return cuts.flatMap((cut) => {
    const was = before.lines.find((line) => !line.many && edgeKey(line) === edgeKey(cut));
    if (was) return [{ ...was, shown: true }];
    // It brought nothing to the chosen token: a thin line between the middles of its rows.
    const found = flows.find(({ flow }) => flow.attention === cut.attention);
    const from = scene.bands.findIndex(({ side }) => side === found?.flow.keys);
    const to = scene.bands.findIndex(({ stack }) => stack === found?.river.stack);
    const column = scene.bands[to]?.columns[cut.layer];
    const [key, query] = [rowWith(scene.bands[from], cut.key), rowWith(scene.bands[to], cut.query)];
    if (!column || column.x0 === column.x1 || !key || !query) return [];
    const nothing = { own: false, many: false, shown: true, share: 0, width: 0 };
    return [{ ...cut, ...nothing, from, to, x0: column.x0, y0: key.y, x1: column.x1, y1: query.y }];
  });
}

/** @param {Band|undefined} band @param {number} token @returns {Row|undefined} */
const rowWith = (band, token) => band?.rows[band.index[token]];
