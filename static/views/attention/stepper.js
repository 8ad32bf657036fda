/** The steps of a head, QKᵀ | ÷√d | + M | softmax | · V, over its picture: the last one is another view. */

import { dividesProducts, has, identityOf, showsMeans } from "../../model/description.js";
import { biasRole, divisorOf, knowsValues, underRoot, weighsKeys } from "../../model/weight_arithmetic.js";
import { h, perRoot, replace, update } from "../../ui/dom.js";
import { number } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { math, mi, mn, mo, mtext, row, sqrt, sub, sup } from "../../ui/mathml.js";
import { equationOf, letterOf, weightsFormula } from "../formulas.js";
import { attentionState } from "../view_states.js";
import { attentionSteps, openAttentionStep } from "./steps.js";

/**
 * @import { Detail } from "../../data/model_trace.js"
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
    {
      ...{ type: "button", tabindex: -1, title: t(`attention.name.${step}`) },
      ...{ dataset: { testid: `step-${step}` }, on: { click: () => go(step) } },
    },
    actOf(step, attention),
  );

// What each step makes, as a formula (Vaswani et al. 2017, equation 1).

// What a step does, in a sentence.

/** @param {StepName} step @param {Attention} attention @param {Detail} detail @param {number} [feature] */
export function saysOf(step, attention, detail, feature = 0) {
  const { softcap = 0 } = attention;
  const numbers = {
    d: underRoot(divisorOf(attention)),
    f: feature,
    root: number(divisorOf(attention), 2),
    cap: number(softcap, 2),
    by: number(divisorOf(attention), 2),
  };
  return t(`attention.says.${keyOf(step, attention, detail)}`, numbers);
}

/** @param {StepName} step @param {Attention} attention @param {Detail} detail */
function keyOf(step, attention, { mask }) {
  if (step === "added") return String(biasRole(attention));
  if (step === "content" && !dividesProducts(attention)) return "content_unscaled";
  if (step === "scaled" && attentionSteps(attention).includes("added")) return "sum_bias";
  if (step === "scaled" && attentionSteps(attention).includes("content")) return "sum";
  if (step === "scaled" && attention.softcap) return "capped";
  if (step === "scaled" && !dividesProducts(attention)) return "unscaled";
  if (step === "scaled" && !attentionSteps(attention).includes("qk")) return "scores";
  if (step === "bias") return attention.roles.position_bias.dims.startsWith("head") ? "bias_head" : "bias";
  if (step === "masked" && weighsKeys(attention)) return mask.data.some(Boolean) ? "left_out" : "unmasked";
  if (step === "weights" && showsMeans(attention)) return "mean";
  if (step === "weights" && weighsKeys(attention)) return "keys";
  if (step === "masked") return mask.data.some(Boolean) ? "masked" : "unmasked";
  return step === "weights" && attention.overview !== "pattern" ? "overview" : step;
}

const dotProducts = () => [mi("Q", "q"), sup(mi("K", "k"), mtext("⊤"))];
const masked = () => [mi("S"), mo("+"), mi("M")];

/** The steps' names: what each does. @param {StepName} step @param {Attention} attention */
function actOf(step, attention) {
  if (step === "content") return math(mi("q", "q"), mo("·"), mi("k", "k"));
  if (step === "distance") return math(mi("q", "q"), mo("·"), sup(mi("a"), mi("K")));
  if (step === "bias") return math(mi("w"));
  if (step === "added") return math(mo("+"), letterOf(String(biasRole(attention))));
  if (step === "feature") return math(sup(mi("e"), exponentOf(attention)));
  if (step === "weights" && showsMeans(attention)) return math(letterOf("mean_weights"));
  if (step === "weights" && weighsKeys(attention)) return math(sup(mi("e"), exponentOf(attention)));
  if (step === "qk") return "QKᵀ";
  if (step === "uncapped") return dividesProducts(attention) ? "QKᵀ ÷√d" : "QKᵀ";
  if (step === "scaled" && attention.softcap) return "tanh";
  if (step === "scaled") return isPlain(attention) ? "S" : "÷√d";
  if (step === "masked") return has(attention, "scores") ? "+ M" : "M";
  return attention.overview === "pattern" ? "softmax" : String(attention.overview);
}

/** The result of a step. @param {StepName} step @param {Attention} attention */
export function resultOf(step, attention) {
  const { d_head: d, overview } = attention;
  /** @type {Partial<Record<StepName, string>>} */
  const roles = {
    content: "content_scores",
    distance: "relative_scores",
    bias: "position_bias",
    uncapped: "uncapped_scores",
  };
  const stated = roles[step];
  if (stated) return equationOf(identityOf(attention, stated), stated, attention);
  if (step === "added") return math(letterOf(String(biasRole(attention))));
  if (step === "feature") return weightsFormula(attention);
  if (step === "weights" && showsMeans(attention))
    return equationOf(identityOf(attention, String(overview)), String(overview));
  if (step === "weights" && weighsKeys(attention)) return weightsFormula(attention);
  if (step === "scaled" && isPlain(attention)) return equationOf(identityOf(attention, "scores"), "scores", attention);
  if (step === "qk")
    return math(
      mi("q", "q"),
      mo("·"),
      mi("k", "k"),
      mo("="),
      mo("∑"),
      sub(mi("q", "q"), mi("i")),
      sub(mi("k", "k"), mi("i")),
    );
  if (step === "scaled") return math(mi("S"), mo("="), ...dotProducts(), mo("/"), sqrt(mn(d)));
  if (step === "masked") return has(attention, "scores") ? math(...masked()) : math(mi("M"));
  return overview === "pattern"
    ? math(mi("A"), mo("="), mi("softmax"), mtext("("), ...masked(), mtext(")"))
    : math(mi(String(overview)));
}

/** The exponent of e, in short. @param {Attention} attention */
const exponentOf = ({ roles, parameters }) =>
  roles.position_bias || parameters.decay ? row(mi("w"), mo("+"), mi("k", "k")) : mi("k", "k");

/** @param {Attention} attention */
const isPlain = (attention) => !attentionSteps(attention).includes("qk");
