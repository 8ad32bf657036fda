/** AFT-conv: w of each head by distance (Zhai et al. 2021, section 3.2). */

import { position } from "../../model/selection.js";
import { t } from "../../ui/i18n.js";
import { math, mi, mo, mtext, sub } from "../../ui/mathml.js";
import { counting } from "../dimension_pages.js";
import { biasByDistance } from "./learned.js";

/** @import { Picture, Show } from "./draw.js" */

/** @type {Show} */
export function kernel(trace, state, learned, actions) {
  const matrix = biasByDistance(learned("kernel"), learned("gamma").data, learned("beta").data);
  const { query, key } = position(state, trace);
  const places = trace.keys.positionIds;
  const between = places[query] - places[key];
  const apart = Math.max(0, Math.min(matrix.shape[1] - 1, between));
  const index = (name) => sub(mi(name), mi("h"));
  const formula = math(
    index("w"),
    mo("="),
    index("γ"),
    mtext("("),
    index("w′"),
    mo("−"),
    mi("mean"),
    mtext(")"),
    mo("/"),
    mi("std"),
    mo("+"),
    index("β"),
  );
  /** @type {Picture} */
  const picture = {
    id: "kernel",
    title: t("distance.kernel"),
    about: t("distance.kernel_about", { n: matrix.shape[1] }),
    matrix,
    rows: Array.from({ length: matrix.shape[0] }, (_, head) => t("heads.head", { n: head })),
    cols: counting(0, matrix.shape[1]),
    axes: [t("distance.heads"), t("distance.back")],
    chosen: [state.head, apart],
    beyond: between !== apart,
    choose: (head, distance) => actions.set({ head, ...(query >= distance && { key: query - distance, query }) }),
  };
  return { formula, pictures: [picture] };
}
