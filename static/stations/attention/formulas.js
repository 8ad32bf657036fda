/** What each step makes, as a formula (Vaswani et al. 2017, equation 1). */

import { has } from "../../model/description.js";
import { math, mi, mn, mo, mtext, sqrt, sub, sup } from "../../ui/mathml.js";
import { stepsOf } from "./steps.js";

/** @typedef {import("../../model/description.js").Attention} Attention  @typedef {import("./steps.js").StepName} StepName */

const dotProducts = () => [mi("Q", "q"), sup(mi("K", "k"), mtext("⊤"))];
const masked = () => [mi("S"), mo("+"), mi("M")];

/** The stops of the slider: what each step does. @param {StepName} step @param {Attention} attention */
export function actOf(step, attention) {
  if (step === "qk") return math(...dotProducts());
  if (step === "scaled") return isPlain(attention) ? math(mi("S")) : math(mo("÷"), sqrt(sub(mi("d"), mi("k"))));
  if (step === "masked") return has(attention, "scores") ? math(mo("+"), mi("M")) : math(mi("M"));
  return math(mi(attention.overview === "pattern" ? "softmax" : String(attention.overview)));
}

/** What is there then. @param {StepName} step @param {Attention} attention */
export function resultOf(step, attention) {
  const { d_head: d, overview } = attention;
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
  if (step === "scaled")
    return math(mi("S"), ...(isPlain(attention) ? [] : [mo("="), ...dotProducts(), mo("/"), sqrt(mn(d))]));
  if (step === "masked") return has(attention, "scores") ? math(...masked()) : math(mi("M"));
  return overview === "pattern"
    ? math(mi("A"), mo("="), mi("softmax"), mtext("("), ...masked(), mtext(")"))
    : math(mi(String(overview)));
}

/** Scores that are more, or something else, than dot products. @param {Attention} attention */
const isPlain = (attention) => !stepsOf(attention).includes("qk");
