/** What of an encoder is still to be read, drawn above the decoder that reads it. No DOM. */

/**
 * @import { Reach } from "../../model/reach.js"
 * @import { Band, Stream } from "./layout.js"
 */

/** Above each layer of the decoder. @param {Reach} reader @param {Reach} read @param {Band} to @param {Band} from @param {number} fat @returns {Stream[]} */
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
