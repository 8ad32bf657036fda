/** Relative positions: the tables a^K and a^V (Shaw et al. 2018), a row for each distance; that of the chosen pair is marked. */

import { identityOf } from "../../model/description.js";
import { position } from "../../model/selection.js";
import { t } from "../../ui/i18n.js";
import { math, mi, sup } from "../../ui/mathml.js";
import { counting } from "../dimension_pages.js";
import { formulaOf } from "../role_formulas.js";
import { distancesOf } from "./learned.js";

/** @import { Picture, Show } from "./draw.js" */

/** @type {Show} */
export function tables(trace, state, learned, actions) {
  const { query, key } = position(state, trace);
  /** @param {string} name @param {string} letter @returns {Picture} */
  const of = (name, letter) => {
    const matrix = learned(name);
    const distances = distancesOf(matrix.shape[0]);
    const most = distances[distances.length - 1];
    const places = trace.keys.positionIds;
    const apart = Math.max(-most, Math.min(most, places[key] - places[query]));
    const rows = distances.map((one) =>
      t(Math.abs(one) === most ? "distance.row_end" : "distance.row", { n: signedDistance(one) }),
    );
    return {
      id: name,
      title: math(sup(mi("a"), mi(letter))),
      about: trace.attention.causal ? `${t(`distance.${name}`)} ${t("distance.later")}` : t(`distance.${name}`),
      matrix,
      rows,
      cols: counting(0, matrix.shape[1]),
      axes: [t("distance.axis"), t("matrix.dimension_axis")],
      chosen: [apart + most, Math.min(state.cell?.[1] ?? 0, matrix.shape[1] - 1)],
      choose: (_, d) => actions.set({ cell: [query, d] }),
      span: "row",
    };
  };
  const formula = ["scores", "z"].map((role) => formulaOf(identityOf(trace.attention, role), role));
  return { formula, pictures: [of("table_k", "K"), of("table_v", "V")] };
}

const signedDistance = (one) => (one > 0 ? `+${one}` : String(one).replace("-", "−"));
