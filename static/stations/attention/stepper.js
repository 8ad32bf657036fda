/** The slider QKᵀ › ÷√d › + M › softmax: a range for the keys, and its stops as formulas to click. */

import { h, perRoot, replace, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { actOf } from "./formulas.js";
import { own } from "./own.js";
import { stepOf, stepsOf } from "./steps.js";

/**
 * @import { Attention } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../index.js"
 * @import { StepName } from "./steps.js"
 */

const partsOf = perRoot((root) => {
  const stops = h("div", { class: "stops", "aria-hidden": true });
  const range = /** @type {HTMLInputElement} */ (
    h("input", { type: "range", min: 0, "aria-label": t("attention.steps"), dataset: { testid: "attention-step" } })
  );
  root.append(stops, range);
  return { stops, range, drawn: "" };
});

/**
 * @param {HTMLElement} root @param {Attention} attention @param {State} state
 * @param {Actions} actions
 */
export function drawStepper(root, attention, state, actions) {
  const parts = partsOf(root);
  const steps = stepsOf(attention);
  const open = steps.indexOf(/** @type {StepName} */ (stepOf(attention, state)));
  const go = (step) => actions.set(own.patch({ step }));
  const drawn = `${attention.id} ${attention.kind} ${steps.join()}`;
  if (drawn !== parts.drawn) replace(parts.stops, ...steps.map((step) => stopOf(step, attention, go)));
  parts.drawn = drawn;
  root.hidden = steps.length < 2;
  root.style.setProperty("--stops", String(steps.length));
  [...parts.stops.children].forEach((stop, i) => update(stop, { class: i === open ? "at" : i < open ? "done" : null }));
  update(parts.range, { max: steps.length - 1, value: open, "aria-valuetext": t(`attention.name.${steps[open]}`) });
  parts.range.oninput = () => go(steps[Number(parts.range.value)]);
}

/** The keyboard has the range. @param {StepName} step @param {Attention} attention @param {(step: StepName) => void} go */
const stopOf = (step, attention, go) =>
  h(
    "button",
    { type: "button", tabindex: -1, dataset: { testid: `step-${step}` }, on: { click: () => go(step) } },
    actOf(step, attention),
  );
