/** What each step makes, as a formula (Vaswani et al. 2017, equation 1). */

import { has, identityOf, showsMeans } from "../../model/description.js";
import { biasRole, weighsKeys } from "../../model/mechanism_needs.js";
import { math, mi, mn, mo, mtext, row, sqrt, sub, sup } from "../../ui/mathml.js";
import { weightsFormula } from "../feature_formulas.js";
import { formulaOf, letterOf } from "../role_formulas.js";
import { stepsOf } from "./steps.js";

/**
 * @import { Attention } from "../../model/description.js"
 * @import { StepName } from "./steps.js"
 */

const dotProducts = () => [mi("Q", "q"), sup(mi("K", "k"), mtext("⊤"))];
const masked = () => [mi("S"), mo("+"), mi("M")];

/** The stops of the slider: what each step does. @param {StepName} step @param {Attention} attention */
export function actOf(step, attention) {
  if (step === "content") return math(mi("q", "q"), mo("·"), mi("k", "k"));
  if (step === "distance") return math(mi("q", "q"), mo("·"), sup(mi("a"), mi("K")));
  if (step === "bias") return math(mi("w"));
  if (step === "added") return math(mo("+"), letterOf(String(biasRole(attention))));
  if (step === "feature") return math(sup(mi("e"), exponentOf(attention)));
  if (step === "weights" && showsMeans(attention)) return math(letterOf("mean_weights"));
  if (step === "weights" && weighsKeys(attention)) return math(sup(mi("e"), exponentOf(attention)));
  if (step === "qk") return math(...dotProducts());
  if (step === "scaled") return isPlain(attention) ? math(mi("S")) : math(mo("÷"), sqrt(sub(mi("d"), mi("k"))));
  if (step === "masked") return has(attention, "scores") ? math(mo("+"), mi("M")) : math(mi("M"));
  return math(mi(attention.overview === "pattern" ? "softmax" : String(attention.overview)));
}

/** What is there then. @param {StepName} step @param {Attention} attention */
export function resultOf(step, attention) {
  const { d_head: d, overview } = attention;
  const stated = { content: "content_scores", distance: "relative_scores", bias: "position_bias" }[step];
  if (stated) return formulaOf(identityOf(attention, stated), stated, attention);
  if (step === "added") return math(letterOf(String(biasRole(attention))));
  if (step === "feature") return weightsFormula(attention);
  if (step === "weights" && showsMeans(attention))
    return formulaOf(identityOf(attention, String(overview)), String(overview));
  if (step === "weights" && weighsKeys(attention)) return weightsFormula(attention);
  if (step === "scaled" && isPlain(attention)) return formulaOf(identityOf(attention, "scores"), "scores", attention);
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

/** What e is raised to, in short. @param {Attention} attention */
const exponentOf = ({ roles, parameters }) =>
  roles.position_bias || parameters.decay ? row(mi("w"), mo("+"), mi("k", "k")) : mi("k", "k");

const isPlain = (attention) => !stepsOf(attention).includes("qk");
