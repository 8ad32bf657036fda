/** The last step, the weights: as they are, in another form, or before and after a change of the masks. */

import { scaleLegend, weightScale } from "../../chart/matrix/scale.js";
import { isCompared } from "../../model/compare/runs.js";
import { segment } from "../../ui/controls.js";
import { replace, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { drawWeights, leakMargin } from "../query_key.js";
import { both, lines } from "./chosen.js";
import { drawForms } from "./forms.js";

/** One matrix, or before | after | difference. */
export function buildChoices() {
  const choices = segment(t("matrix.show"), ["alone", "both"], "show", (name) => t(`matrix.show.${name}`));
  choices.box.classList.add("runs");
  return choices;
}

/** @param {any} parts @param {any} trace @param {any} state @param {any} actions @param {(place: HTMLElement, draw: () => void) => void} morph */
export function drawWeightsStep({ places, forms, legend, choices }, trace, state, actions, morph) {
  const compared = isCompared(state, trace.model);
  drawChoices(choices, compared ? "both" : "alone", trace, actions);
  const details = compared ? [trace.detail, trace.comparedDetail] : [trace.detail];
  const forbidden = details.some(({ mask }) => mask.data.some(Boolean)) ? t("matrix.forbidden_word") : null;
  replace(legend, lines.code?.linesLegend(trace, state) ?? scaleLegend(weightScale(), { number: String, forbidden }));
  places.both.hidden = !compared;
  places.alone.hidden = drawForms(forms, trace, state, actions) || compared;
  if (compared) both.draw(places.both, trace, state, actions);
  else if (!places.alone.hidden) morph(places.alone, () => drawOne(places.alone, trace, state, actions));
}

function drawChoices(choices, shown, { file }, actions) {
  choices.show(shown, (name) => actions.set({ compare: name === "both", ...(name === "alone" && { against: null }) }));
  update(choices.buttons.both, { disabled: file !== null });
}

function drawOne(place, trace, state, actions) {
  const { detail } = trace;
  const margin = leakMargin(trace, detail);
  drawWeights(place, trace, state, actions, { id: "weights", title: t("matrix.weights"), detail, margin });
}
