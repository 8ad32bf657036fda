/** Where the lines were that the reader has cut. No DOM. */

import { edgeKey } from "../../model/cuts.js";

/**
 * @import { Edge } from "../../model/cuts.js"
 * @import { Reach } from "../../model/reach.js"
 * @import { Band, Scene } from "./layout.js"
 * @import { Line } from "./lines.js"
 * @import { Row } from "./rows.js"
 */

/**
 * Where the cut edges were, as wide as they were in the uncut run.
 * @param {Edge[]} cuts @param {Scene} scene @param {Scene} before  the uncut run's @param {Reach[]} rolled
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
