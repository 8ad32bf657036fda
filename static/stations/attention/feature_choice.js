/** Which feature of the open group is shown, where every feature has weights of its own. */

import { featureOf } from "../../model/selection.js";
import { h, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";

export function buildFeatureChoice() {
  const input = /** @type {HTMLInputElement} */ (
    h("input", { type: "number", min: 0, class: "feature-number", dataset: { testid: "feature" } })
  );
  const element = h("label", { class: "feature-choice", hidden: true }, t("feature.choose"), " ", input);
  return { element, input };
}

/** @param {ReturnType<typeof buildFeatureChoice>} parts @param {string} step @param {any} trace @param {any} state @param {any} actions */
export function drawFeatureChoice({ element, input }, step, { attention, queries }, state, actions) {
  element.hidden = step !== "feature";
  if (element.hidden) return;
  const last = attention.d_head - 1;
  update(input, { max: last });
  if (document.activeElement !== input || input.valueAsNumber !== featureOf(state, attention))
    input.value = String(featureOf(state, attention));
  input.oninput = () => {
    const asked = input.valueAsNumber;
    if (Number.isInteger(asked) && asked >= 0 && asked <= last)
      actions.set({ cell: [state.query ?? queries.tokens.length - 1, asked] });
  };
}
