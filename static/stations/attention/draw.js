/** Attention, step by step: A = softmax(QKᵀ/√d_k + M), what the open head looks at. */

import { scaleLegend } from "../../chart/matrix/scale.js";
import { isTrained } from "../../model/compare/runs.js";
import { isRecurrent } from "../../model/description.js";
import { featureOf } from "../../model/selection.js";
import { atLeast } from "../../state/levels.js";
import { h, perRoot, replace, setText } from "../../ui/dom.js";
import { number } from "../../ui/format.js";
import { headChip, headTitle } from "../../ui/heads.js";
import { t } from "../../ui/i18n.js";
import { setFormulas } from "../../ui/mathml.js";
import { drawSquare } from "../query_key.js";
import { buildFeatureChoice, drawFeatureChoice } from "./feature_choice.js";
import { buildForms } from "./forms.js";
import { resultOf } from "./formulas.js";
import { blindRows, nothingWords } from "./mask_words.js";
import { morphing } from "./morph.js";
import { own } from "./own.js";
import { saysOf } from "./says.js";
import { SQUARES } from "./squares.js";
import { drawStepper } from "./stepper.js";
import { stepOf } from "./steps.js";
import { reasonsLegend } from "./tints.js";
import { buildChoices, drawWeightsStep } from "./weights.js";

/** @import { StepName } from "./steps.js" */

/** Whatever is hidden at a step keeps its place, so that the cells keep theirs: see css/matrix.css. */
const partsOf = perRoot((root) => {
  const title = h("h1", { dataset: { testid: "opened-title" } });
  const [stepper, legend] = [h("div", { class: "stepper" }), h("div", { class: "legend-place" })];
  const formula = h("div", { class: "formula" });
  const says = h("p", { class: "says dim", "aria-live": "polite", dataset: { testid: "attention-says" } });
  const note = h("p", { class: "station-note dim", dataset: { testid: "blind" } });
  const [forms, choices, feature] = [buildForms(), buildChoices(), buildFeatureChoice()];
  const places = { alone: h("div", null), both: h("div", null), ...forms.places };
  root.append(
    h(
      "div",
      { class: "bar" },
      title,
      headChip(),
      h("span", { class: "grow" }),
      h("div", { class: "tools" }, choices.box, forms.forms.box, forms.units.box),
    ),
    h("div", { class: "step-strip" }, stepper, feature.element, legend),
    h("div", { class: "says-row" }, formula, says),
    h("div", { class: "station-body" }, forms.options, note, Object.values(places)),
  );
  return { title, stepper, legend, formula, says, note, forms, choices, feature, places, drawn: "" };
});

export function draw(root, trace, state, actions) {
  const parts = partsOf(root);
  const { attention, detail } = trace;
  const step = /** @type {StepName} */ (stepOf(attention, state));
  root.dataset.step = step;
  setText(parts.title, headTitle(trace.model, state));
  drawStepper(parts.stepper, attention, state, actions);
  replace(parts.formula, resultOf(step, attention));
  setFormulas(parts.says, saysOf(step, attention, detail, featureOf(state, attention)));
  const blind = detail.mask && ["masked", "weights"].includes(step) ? blindRows(detail.mask) : [];
  parts.note.hidden = blind.length === 0;
  setText(parts.note, blind.length ? nothingWords(blind, detail.pattern) : "");
  foldTools(parts, attention, state);
  drawFeatureChoice(parts.feature, step, trace, state, actions);
  // Another step of the same cells fades in; another head or sentence is simply there.
  const morph = parts.drawn && parts.drawn !== step ? morphing : (_, draw) => draw();
  if (step === "weights") drawWeightsStep(parts, trace, state, actions, morph);
  else morph(parts.places.alone, () => drawStep(parts, step, trace, state, actions));
  parts.drawn = step;
}

/** What few readers need waits for the level *everything*, or until it is in use. */
function foldTools({ choices, forms }, attention, state) {
  const all = atLeast(state, "everything");
  choices.box.hidden = (!all || isRecurrent(attention)) && !state.compare && isTrained(state);
  forms.units.box.hidden = state.compare || (!all && own.of(state).unit === "tokens");
}

/** The numbers at the ends of a legend, and the hatching where a step has it. @param {string} step @param {any} square */
const legendWords = (step, { tones, forbidden }) => ({
  number: tones || step === "feature" ? String : (value) => number(value, 2),
  forbidden: step === "feature" && forbidden ? t("matrix.forbidden_word") : null,
});

/** QKᵀ, the scores, or the scores under the mask. */
function drawStep({ places, forms, legend }, step, trace, state, actions) {
  const { detail } = trace;
  const square = SQUARES[step](trace, state);
  const ramp = step !== "masked" && scaleLegend(square.scale, legendWords(step, square));
  const reasons = step === "masked" ? reasonsLegend(detail.mask.data) : [];
  replace(legend, h("span", { class: "legend", dataset: { testid: "legend" } }, ramp && [...ramp.childNodes], reasons));
  forms.options.hidden = true;
  for (const place of Object.values(places)) place.hidden = place !== places.alone;
  const margin = step === "feature" ? undefined : { title: "", text: () => "" }; // the place of the weights' sums
  drawSquare(places.alone, trace, state, actions, { ...square, sums: detail.overview !== undefined, margin });
}
