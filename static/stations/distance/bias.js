/** AFT-full and -local: w of each pair of positions in the window, the sentence's part within dashed lines. */

import { position } from "../../model/selection.js";
import { t } from "../../ui/i18n.js";
import { math, mi, mo, row, sub } from "../../ui/mathml.js";
import { counting } from "../dimension_pages.js";
import { biasByPosition } from "./learned.js";

/**
 * @import { Attention } from "../../model/description.js"
 * @import { Picture, Show } from "./draw.js"
 */

/** @type {Show} */
export function bias(trace, state, learned, actions) {
  const places = trace.keys.positionIds;
  const [u, v] = [learned("bias_query"), learned("bias_key")];
  const matrix = biasByPosition(u, v, trace.attention.bias_reach);
  const { query, key } = position(state, trace);
  const n = trace.queries.tokens.length;
  const formula = math(
    sub(mi("w"), row(mi("t"), mi("i"))),
    mo("="),
    sub(mi("u"), mi("t")),
    mo("·"),
    sub(mi("v"), mi("i")),
  );
  /** @type {Picture} */
  const picture = {
    id: "window",
    title: t("distance.window", { n: matrix.shape[0] }),
    about: aboutOf(trace.attention),
    matrix,
    square: true,
    rows: counting(0, matrix.shape[0]),
    cols: counting(0, matrix.shape[0]),
    axes: [t("matrix.query_rows"), t("distance.key_positions")],
    chosen: [places[query], places[key]],
    edges: { row: n, col: n },
    outside: Uint8Array.from(matrix.data, (w) => (w === 0 ? 1 : 0)),
    choose: (row, col) => row < n && col < n && actions.set({ query: row, key: col }),
  };
  return { formula, pictures: [picture] };
}

/** What the lines mean: only a window has an edge. @param {Attention} attention */
function aboutOf({ bias_reach: reach, causal }) {
  const lines = t(reach ? "distance.window_about" : "distance.window_whole");
  return causal ? `${lines} ${t("distance.window_later")}` : lines;
}
