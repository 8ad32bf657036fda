/** The arithmetic of one LayerNorm (or RMSNorm, without mean and β) on one token: mean, variance, then for one dimension (x − mean)/√(variance + ε)·γ + β. */

import { drawTermBars } from "../../../chart/bars/bars.js";
import { isRms } from "../../../model/description.js";
import { isMade } from "../../../model/formula_edits.js";
import { deviationOf, largest, normalised, rowIn } from "../../../model/matrix.js";
import { position } from "../../../model/selection.js";
import { h, perRoot, replace, update } from "../../../ui/dom.js";
import { checkOf, signed, significant } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import { firstSteps, openStep, walkSteps } from "../../computation/steps.js";
import { inspectorState } from "../../view_states.js";
import {
  buildExplanation,
  drawKeyFigures,
  drawSays,
  drawSentence,
  drawTitle,
  openNorms,
  tokenInRole,
  value,
} from "../parts.js";

/**
 * @import { FetchedTrace } from "../../../data/model_trace.js"
 * @import { Model, Norm } from "../../../model/description.js"
 * @import { State } from "../../../state/store.js"
 * @import { Step } from "../../computation/steps.js"
 * @import { Actions, FetchedDraw } from "../../view.js"
 */

const builtOf = buildExplanation(["input", "mean", "hat", "out"]);
const elementsOf = perRoot((root) => {
  const parts = builtOf(root);
  const choice = h("select", { "aria-label": t("inspector.norm_choose"), dataset: { testid: "norm-choice" } });
  parts.figures.before(h("p", null, choice));
  return { ...parts, choice };
});

/** The step of the walk that a LayerNorm is. */
const isStepOf = (/** @type {string} */ kind) => (/** @type {Step} */ step) =>
  ["start", "final"].includes(kind) ? step.kind === kind : step.kind === "norm" && step.group === kind;

/** Which one is explained: in the walk that of the open step. @param {[string, Norm][]} norms @param {State} state @param {Model} model @param {string|null} wish */
function openIn(norms, state, model, wish) {
  const step = state.view === "computation" ? openStep(walkSteps(model, state), model, state) : null;
  return norms.find(([kind]) => (step ? isStepOf(kind)(step) : kind === wish)) ?? norms[0];
}

/**
 * @typedef {ReturnType<typeof elementsOf>} Parts
 * @typedef {{x: ArrayLike<number>, out: ArrayLike<number>, d: number}} Vectors  before and after it, and the dimension shown
 */

/** @type {FetchedDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const norms = openNorms(state, trace.model);
  const [kind, norm] = openIn(norms, state, trace.model, inspectorState.of(state).norm);
  const walked = state.view === "computation";
  drawChoice(parts, norms, kind, (wish) => {
    if (walked) walkTo(wish, trace.model, actions);
    else actions.set(inspectorState.patch({ norm: wish }));
  });
  const { query } = position(state, trace);
  const part = (/** @type {"input"|"out"} */ role) => rowIn(trace.tensor(norm.roles[role].tap), query);
  const [x, out] = [part("input"), part("out")];
  drawTitle(
    parts,
    isRms(norm) ? "inspector.title_rms" : "inspector.title_norm",
    phrase("inspector.norm_of", { token: tokenInRole(trace.queries.tokens, query, "q") }),
  );
  const asked = state.cell?.[1] ?? Infinity;
  // Nothing is chosen: the dimension that the walk shows, or the largest of the input.
  const d = asked < x.length ? asked : largest(walked ? out : x);
  drawInShort(parts, trace, state, norm, { x, out, d, query });
  drawSteps(parts, trace, norm, { x, out, d }, (to) => actions.set({ cell: [query, to] }));
}

/** What it does to one dimension, in a sentence and three numbers. @param {Parts} parts @param {FetchedTrace} trace @param {State} state @param {Norm} norm @param {Vectors & {query: number}} shown */
function drawInShort(parts, trace, state, norm, { x, out, d, query }) {
  const { queries } = trace;
  const rms = isRms(norm);
  const frozen = frozenIn(trace, norm, x, out);
  const { mean, deviation } = normalised(x, d, norm.eps, rms, frozen);
  const about = {
    token: tokenInRole(queries.tokens, query, "q"),
    d,
    x: value(significant(x[d])),
    value: value(significant(out[d])),
  };
  drawSays(parts, phrase("inspector.says_norm", about));
  drawKeyFigures(parts, [
    .../** @type {[string, string][]} */ (rms ? [] : [[t("inspector.figure_mean"), significant(mean)]]),
    [t(rms ? "inspector.figure_rms" : "inspector.figure_deviation"), significant(deviation)],
    [t("inspector.figure_out", { d }), significant(out[d])],
  ]);
}

/** Where LayerNorm is frozen, σ is that of the run without edits; null: its own. @param {FetchedTrace} trace @param {Norm} norm @param {ArrayLike<number>} x @param {ArrayLike<number>} out */
function frozenIn(trace, norm, x, out) {
  if (!isMade({ interventions: trace.interventions ?? [] }, "freeze_norms")) return null;
  const [gain, bias] = [norm.parameters.gain, norm.parameters.bias];
  return deviationOf(x, out, trace.weight(gain).data, bias ? trace.weight(bias).data : null, isRms(norm));
}

/** In the walk, every LayerNorm is a separate step. @param {string} kind @param {Model} model @param {Actions} actions */
function walkTo(kind, model, actions) {
  const step = walkSteps(model, actions.get()).find(isStepOf(kind));
  if (step) actions.set(firstSteps(step));
}

/** @param {Parts} parts @param {[string, Norm][]} norms @param {string} open @param {(kind: string) => void} choose */
function drawChoice(parts, norms, open, choose) {
  replace(
    parts.choice,
    norms.map(([kind]) => h("option", { value: kind, selected: kind === open }, t(`inspector.norm_${kind}`))),
  );
  parts.choice.onchange = () => choose(parts.choice.value);
}

/** @param {Parts} parts @param {FetchedTrace} trace @param {Norm} norm @param {Vectors} shown @param {(to: number) => void} onChoose */
function drawSteps({ steps }, trace, norm, { x, out, d }, onChoose) {
  const { parameters, eps } = norm;
  const rms = isRms(norm);
  const gain = trace.weight(parameters.gain).data;
  const bias = parameters.bias ? trace.weight(parameters.bias).data[d] : null;
  const frozen = frozenIn(trace, norm, x, out);
  const { mean, variance, deviation, hat } = normalised(x, d, eps, rms, frozen);
  const total = hat * gain[d] + (bias ?? 0);
  drawSentence(steps.input, "inspector.norm_input", { n: x.length });
  drawTermBars(steps.input.more, {
    terms: x,
    chosen: d,
    onChoose,
    label: t("inspector.norm_label", { n: x.length }),
    words: (i) => t("inspector.norm_dimension", { d: i, value: signed(x[i], 4) }),
  });
  update(steps.input.item, { title: t("inspector.norm_click") });
  drawSentence(steps.mean, rms ? "inspector.rms_mean" : "inspector.norm_mean", {
    mean: value(significant(mean)),
    variance: value(significant(variance)),
  });
  const vars = {
    d,
    x: signed(x[d], 4),
    mean: mean < 0 ? `(${significant(mean)})` : significant(mean),
    deviation: significant(deviation),
    value: value(significant(hat)),
  };
  drawSentence(steps.hat, rms ? "inspector.rms_hat" : "inspector.norm_hat", vars);
  const after = { gain: significant(gain[d]), deviation: significant(deviation), value: value(significant(total)) };
  const shifted = bias === null ? after : { ...after, bias: signed(bias, 4) };
  drawSentence(
    steps.out,
    frozen !== null ? "inspector.frozen_out" : bias === null ? "inspector.rms_out" : "inspector.norm_out",
    shifted,
    checkOf(total, out[d]),
  );
}
