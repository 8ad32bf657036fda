/**
 * Predictions by layer: what the stream would predict if the model ended after each of its layers. This is the logit
 * lens (nostalgebraist 2020), not an output of the model, and the station says so.
 */

import { scaleLegend, weightScale } from "../../../chart/matrix/scale.js";
import { answeringStack, isRms, predictsTokens, tiesEmbeddings } from "../../../model/description.js";
import { rowOf } from "../../../model/selection.js";
import { h, perRoot, replace } from "../../../ui/dom.js";
import { percent } from "../../../ui/format.js";
import { t } from "../../../ui/i18n.js";
import { math, mi, mo, row, sub, sup, transposedFormula } from "../../../ui/mathml.js";
import { drawFormula } from "../../station.js";
import { drawClassDepths } from "./classes.js";
import { drawFollowed } from "./followed.js";
import { drawGrid } from "./grid.js";
import { checkWords, ownWords } from "./words.js";

const partsOf = perRoot((place) => {
  const formula = h("div", { class: "formula" });
  const how = h("p", { class: "dim lens-about" });
  const check = h("p", { class: "lens-check", dataset: { testid: "lens-check" } });
  const [grid, followed, classes] = [h("div", null), h("div", null), h("div", null)];
  place.append(formula, h("div", { class: "station-body" }, how, grid, check, followed, classes));
  return { formula, how, check, grid, followed, classes };
});

/** @param {{place: HTMLElement, aside: HTMLElement}} where  `aside`: beside the title */
export function draw({ place, aside }, trace, state, actions) {
  const parts = partsOf(place);
  if (!aside.firstChild) aside.append(h("span", { class: "role" }, t("lens.badge")));
  const found = trace.explained.lens;
  const tokens = predictsTokens(trace.model);
  const at = placeOf(found, trace, state);
  const legend = scaleLegend(weightScale(), { number: (one) => percent(one, 0) });
  const note = t(noteOf(trace.model));
  drawFormula(parts.formula, { formula: formulaOf(trace.model), note, legend: tokens ? legend : null });
  replace(parts.how, t(tokens ? "lens.how" : "lens.how_classes"), tokens ? [" ", ownWords(found, trace)] : null);
  parts.grid.hidden = parts.followed.hidden = !tokens;
  parts.classes.hidden = tokens;
  replace(parts.check, checkWords(found, trace, at));
  if (!tokens) return drawClassDepths(parts.classes, found, trace);
  drawGrid(parts.grid, found, trace, at, state, actions);
  drawFollowed(parts.followed, found, trace, at, state, actions);
}

/** The chosen row of the lens: a PAD has none, so the nearest is used. */
function placeOf({ rows }, trace, state) {
  const row = rowOf(state, trace);
  const at = rows.findIndex((one) => one >= row);
  return at < 0 ? rows.length - 1 : at;
}

/** p = softmax(LN(x) · Eᵀ), applied to every layer's x although it was trained for the last. */
function formulaOf(model) {
  const classifies = !predictsTokens(model);
  const x = sup(mi("x"), row(mo("("), mi("ℓ"), mo(")")));
  const { final_norm: last } = answeringStack(model);
  const read = last ? [mi(isRms(last) ? "RMS" : "LN"), mo("("), x, mo(")")] : [x];
  const out = classifies
    ? sub(mi("W"), mi("class"))
    : tiesEmbeddings(model)
      ? transposedFormula(sub(mi("W"), mi("E")))
      : sub(mi("W"), mi("U"));
  const bias = classifies ? [mo("+"), mi("b")] : [];
  return math(
    sup(mi("p"), row(mo("("), mi("ℓ"), mo(")"))),
    mo("="),
    mi("softmax"),
    mo("("),
    ...read,
    out,
    ...bias,
    mo(")"),
  );
}

/** How a stream is read: through the last norm; without one, because the blocks end with a norm, or because there is none. */
function noteOf(model) {
  const { final_norm: last, layers } = answeringStack(model);
  const place = last ? "pre" : (layers.at(-1)?.sublayers.at(-1)?.norm?.place ?? "none");
  return `lens.made_${predictsTokens(model) ? "" : "classes_"}${isRms(last) ? "rms" : place}`;
}
