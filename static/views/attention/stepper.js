/** The steps of a head, QKᵀ | ÷√d | + M | softmax | · V, over its picture: the last one is another view. */

import { has } from "../../model/description.js";
import { knowsValues } from "../../model/weight_arithmetic.js";
import { h, perRoot, replace, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { attentionState } from "../view_states.js";
import { actOf } from "./formulas.js";
import { attentionSteps, openAttentionStep } from "./steps.js";

/**
 * @import { Attention } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { StepName } from "./steps.js"
 */

/** Buttons, and a range for the keys. */
const stepperOf = perRoot((root) => {
  const stops = h("div", { class: "stops", "aria-hidden": true });
  const values = h(
    "button",
    { type: "button", class: "to-values", dataset: { testid: "step-av" } },
    "· ",
    valuesLetter(),
  );
  const range = /** @type {HTMLInputElement} */ (
    h("input", { type: "range", min: 0, "aria-label": t("attention.steps"), dataset: { testid: "attention-step" } })
  );
  root.classList.add("seg");
  root.append(range, stops, values);
  return { stops, range, values, drawn: "" };
});

/**
 * @param {HTMLElement} root @param {Attention} attention @param {State} state
 * @param {Actions} actions
 */
export function drawStepper(root, attention, state, actions) {
  const parts = stepperOf(root);
  const steps = attentionSteps(attention);
  const open = steps.indexOf(/** @type {StepName} */ (openAttentionStep(attention, state)));
  const go = (/** @type {StepName} */ step) => actions.set({ view: "attention", ...attentionState.patch({ step }) });
  const drawn = `${attention.id} ${attention.kind} ${steps.join()}`;
  if (drawn !== parts.drawn) replace(parts.stops, ...steps.map((step) => stopOf(step, attention, go)));
  parts.drawn = drawn;
  const multiplies = ["pattern", "v", "z"].every((role) => has(attention, role)) && knowsValues(attention);
  const multiplied = state.view === "av";
  parts.values.hidden = !multiplies;
  parts.values.onclick = () => actions.set({ view: "av" });
  update(parts.values, { "aria-pressed": multiplied });
  root.hidden = steps.length < 2;
  [...parts.stops.children].forEach((stop, i) => update(stop, { class: i === open && !multiplied ? "on" : null }));
  update(parts.range, { max: steps.length - 1, value: open, "aria-valuetext": t(`attention.name.${steps[open]}`) });
  parts.range.oninput = () => go(steps[Number(parts.range.value)]);
}

const valuesLetter = () => h("span", { class: "v" }, "V");

/** A step, for pointers: the keyboard uses the range. @param {StepName} step @param {Attention} attention @param {(step: StepName) => void} go */
const stopOf = (step, attention, go) =>
  h(
    "button",
    { type: "button", tabindex: -1, dataset: { testid: `step-${step}` }, on: { click: () => go(step) } },
    actOf(step, attention),
  );
