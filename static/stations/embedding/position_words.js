/** Texts about a position table: its formula, one of its rows, the similarity of two rows. */

import { h } from "../../ui/dom.js";
import { checkOf, number, power, significant } from "../../ui/format.js";
import { keyFor, phrase, t } from "../../ui/i18n.js";
import { frac, math, mi, mn, mo, mtext, row, sub, sup } from "../../ui/mathml.js";
import { angleOf, diagonal, gapToFormula, sinusoid } from "./numbers.js";

/** @import { Positions } from "./positions.js" */

/** @param {Positions["kind"]} kind @param {number} dModel */
export function formulaOf(kind, dModel) {
  const name = (index) => sub(mi("P"), row(mi("pos"), mo(","), ...index));
  if (kind === "sinusoidal")
    return [wave(name([mn(2), mi("i")]), "sin", dModel), wave(name([mn(2), mi("i"), mo("+"), mn(1)]), "cos", dModel)];
  return [
    math(
      sub(mi("P"), mi("pos")),
      mo("="),
      kind === "none" ? mn(0) : row(sub(mi("W"), mi("P")), mo("["), mi("pos"), mo("]")),
    ),
  ];
}

/** sin(pos / 10000^(2i/256)) */
function wave(name, fn, dModel) {
  const exponent = row(mn(2), mi("i"), mo("/"), mn(dModel));
  return math(name, mo("="), mi(fn), mtext("("), mi("pos"), mo("/"), sup(mn(10000), exponent), mtext(")"));
}

/**
 * The chosen number; for a sinusoid, with its formula filled in beside the table's number.
 * @param {Positions} found @param {any} trace @param {{row: number, col: number}} at
 */
export function rowWords({ kind, table, trained }, trace, { row: pos, col }) {
  const [, dModel] = table.shape;
  const own = table.data[pos * dModel + col];
  const value = (one) => h("b", { class: "mono" }, one);
  const where = { pos: value(pos), d: value(col), from: whoIsAt(trace, pos, trained) };
  if (kind !== "sinusoidal") return phrase("embedding.row_learned", { ...where, value: value(significant(own, 5)) });
  const made = sinusoid(pos, col, dModel);
  const fn = col % 2 ? "cos" : "sin";
  const formula = math(
    mi(fn),
    mtext("("),
    mn(pos),
    mo("/"),
    sup(mn(10000), frac(mn(col - (col % 2)), mn(dModel))),
    mtext(")"),
    mo("="),
    mi(fn),
    mtext("("),
    mn(significant(angleOf(pos, col, dModel), 5)),
    mtext(")"),
    mo("="),
    mn(significant(made, 5)),
  );
  return [...phrase("embedding.row_sinusoid", { ...where, formula }), " ", checkOf(made, own)];
}

/** The token of this sentence at the position. */
function whoIsAt({ model, queries: { positionIds, real } }, pos, trained) {
  const [first, last] = [positionIds[real.start], positionIds[real.end - 1]];
  if (pos >= trained) return t("embedding.at_beyond");
  return pos >= first && pos <= last
    ? t(keyFor(model, "embedding.at_token"), { index: positionIds.indexOf(pos, real.start) })
    : t(keyFor(model, "embedding.at_free"), { first, last });
}

/** Whether the whole table equals the formula. @param {Positions} found */
export function tableWords({ kind, table }) {
  if (kind !== "sinusoidal") return "";
  const gap = gapToFormula(table);
  const key = gap <= 1e-5 ? "embedding.table_agrees" : "embedding.table_differs";
  return h("span", { class: "dim", dataset: { testid: "table-gap", gap } }, t(key, { gap: power(gap) }));
}

/** The similarity of neighbouring and of distant rows; for a sinusoid, also that only the distance counts. @param {Positions} found */
export function similarityWords({ kind, similarity, trained }) {
  const far = Math.max(1, Math.floor(trained / 2));
  const [near, apart] = [1, far].map((distance) => diagonal(similarity, distance));
  const words = [t("embedding.similarity_said", { near: number(near.mean, 3), far, apart: number(apart.mean, 3) })];
  if (kind === "sinusoidal") {
    const spreads = Array.from({ length: similarity.shape[0] - 1 }, (_, i) => diagonal(similarity, i + 1).spread);
    const spread = Math.max(0, ...spreads);
    if (spread <= 1e-5) words.push(" ", t("embedding.similarity_distance", { gap: power(spread) }));
  }
  return words;
}
