/** What the open model does with the sentence: its prediction, its stream, its units that never fire. */

import { drawLayerChart, drawStepChart } from "../../chart/curves/line_charts.js";
import { stacksOf } from "../../model/description.js";
import { rowOf } from "../../model/selection.js";
import { combinedNorm, snapshotsOf } from "../../model/trainings.js";
import { h, perRoot, replace, setText } from "../../ui/dom.js";
import { integer, number, percent, significant } from "../../ui/format.js";
import { keyFor, phrase, t } from "../../ui/i18n.js";
import { listedToken, namedToken } from "../../ui/token_text.js";
import { drawBarList } from "../parts.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Side } from "../../model/sides.js"
 * @import { Known } from "../../model/trainings.js"
 * @import { State } from "../../state/store.js"
 */

/** The height of the charts of what the run measured: its loss, with the mark, and the gradients of each layer. */
const HEIGHT = 230;

/** A small part with a title, a picture and a sentence. @param {string} name */
function cell(name) {
  const [place, said] = [h("div", { class: "place" }), h("p", { class: "said dim" })];
  return {
    element: h("section", { dataset: { part: name } }, h("h3", null, t(`watched.${name}`)), place, said),
    place,
    said,
  };
}

const curvePartsOf = perRoot((root) => {
  const [loss, gradients] = [cell("loss"), cell("gradients")];
  root.append(loss.element, gradients.element);
  return { loss, gradients };
});

/**
 * @typedef {ReturnType<typeof cell>} Cell
 * @typedef {{place: number, open: (place: number) => void, layer: number, choose: (layer: number) => void,
 *   beside: Known|null}} At  `beside`: whose gradients at step 0 are drawn, too
 */

/** @param {HTMLElement} root @param {any} model @param {At} at */
export function drawCurves(root, model, at) {
  const parts = curvePartsOf(root);
  drawLoss(parts.loss, model, at);
  drawGradients(parts.gradients, model, at);
}

/** The loss of each batch, and the dots of the snapshots: their loss on the run's first batch. @param {Cell} cell @param {any} model @param {At} at */
function drawLoss({ place: picture, said }, model, { place, open }) {
  const snapshots = snapshotsOf(model);
  const { log } = model;
  /** @type {[number, number][]} */
  const line = log
    ? log.step.map((/** @type {number} */ step, /** @type {number} */ i) => [step - 1, log.loss[i]])
    : [];
  /** @type {[number, number][]} */
  const dots = snapshots.flatMap(({ step, loss }) => (typeof loss === "number" ? [[step, loss]] : []));
  if (!line.length && !dots.length) return setText(said, t("watched.no_loss"));
  const chosen = snapshots[place];
  drawStepChart(picture, {
    label: t("watched.loss_label"),
    lines: [line.length ? line : dots],
    early: true,
    last: Math.max(...line.map(([step]) => step + 1), ...dots.map(([step]) => step)),
    title: t("training.step"),
    dots,
    at: chosen?.step ?? null,
    onChoose: (step) => open(snapshots.findIndex((one) => one.step === step)),
    height: HEIGHT,
  });
  const uniform = number(Math.log(model.classes.length || model.vocab_size), 2);
  setText(
    said,
    chosen?.loss == null
      ? t("watched.loss_said", { uniform })
      : t("watched.loss_at", { step: integer(chosen.step), loss: number(chosen.loss, 2), uniform }),
  );
}

/** The norm of each layer's gradient at this step: its attention's and its FFN's together. @param {Cell} cell @param {any} model @param {At} at */
function drawGradients({ place: picture, said }, model, { place, layer, choose, beside }) {
  const stacks = Object.entries(snapshotsOf(model)[place]?.gradients ?? {});
  picture.hidden = !stacks.length;
  if (!stacks.length) return setText(said, t("watched.no_gradients"));
  const lines = linesOf(Object.fromEntries(stacks));
  const others = beside && lines.length === 1 ? linesOf(beside.card.gradients_at_start) : [];
  const steps = lines[0].values.map((_, layer) => String(layer));
  drawLayerChart(picture, {
    label: t("watched.gradients_label"),
    steps,
    title: t("watched.layer"),
    lines: [...lines, ...others],
    chosen: layer,
    onChoose: choose,
  });
  const key = `watched.gradients_${model.norm_order ?? "pre"}`;
  const other = beside && others.length ? t("watched.gradients_other", { model: beside.name, ...spanOf(others) }) : "";
  setText(said, `${t("watched.gradients_said", spanOf(lines))} ${t(key)} ${other}`.trim());
}

/** @param {Object<string, number[][]>} gradients */
const linesOf = (gradients) =>
  Object.entries(gradients).map(([name, layers]) => ({ name, values: layers.map(combinedNorm) }));

/** From the first layer to the last one, in words. @param {{values: number[]}[]} lines */
function spanOf(lines) {
  const { values } = lines[lines.length - 1];
  const [first, last] = [values[0], values[values.length - 1]];
  const numbers = { first: significant(first, 3), last: significant(last, 3), times: significant(last / first, 2) };
  return { ...numbers, layer: values.length - 1 };
}

/** How many next tokens are listed. */
const N = 5;

const figurePartsOf = perRoot((root) => {
  const [prediction, stream, dead] = [cell("prediction"), cell("stream"), cell("dead")];
  root.append(prediction.element, stream.element, dead.element);
  return { prediction, stream, dead };
});

/** @param {HTMLElement} root @param {ModelTrace} trace @param {State} state @param {(layer: number) => void} choose */
export function drawSnapshotFigures(root, trace, state, choose) {
  const parts = figurePartsOf(root);
  const { residual, units } = trace.explained;
  parts.prediction.element.hidden = trace.written === null || state.quiz; // the quiz asks for it
  if (trace.written) drawPrediction(parts.prediction, trace, trace.written, rowOf(state, trace));
  parts.stream.element.hidden = !residual || residual.refused;
  if (!parts.stream.element.hidden) drawStream(parts.stream, trace, state.layer, choose);
  parts.dead.element.hidden = !units || units.refused;
  if (!parts.dead.element.hidden) drawDead(parts.dead, units, trace);
}

/** @param {Cell} cell @param {ModelTrace} trace @param {Side} written @param {number} row */
function drawPrediction({ place, said }, trace, written, row) {
  const { candidates } = trace.predictions[row];
  const top = candidates.slice(0, N);
  const longest = top[0]?.before || 1;
  drawBarList(place, {
    label: t("watched.prediction"),
    bars: top.map((one) => ({
      id: String(one.id),
      name: listedToken(one),
      share: one.before / longest,
      value: percent(one.before, 1),
      words: percent(one.before, 3),
    })),
  });
  replace(said, phrase("watched.after", { token: namedToken(written.tokens[row], "q", row) }));
}

/** ‖x‖ before the first layer and after every one, the mean over the tokens. @param {Cell} cell @param {ModelTrace} trace @param {number} layer @param {(layer: number) => void} choose */
function drawStream({ place, said }, { explained, model }, layer, choose) {
  /** @type {{stack: string, norm: number[][]}[]} */
  const streams = explained.residual.streams;
  const mean = (/** @type {number[]} */ numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
  const lines = streams.map(({ stack, norm }) => ({ name: stack, values: norm.map(mean) }));
  const steps = lines[0].values.map((_, depth) => String(depth));
  drawLayerChart(place, {
    label: t("watched.stream_label"),
    steps,
    title: t("residual.depth"),
    lines,
    chosen: layer + 1,
    onChoose: (depth) => choose(Math.max(0, depth - 1)),
  });
  const { values } = lines[lines.length - 1];
  setText(
    said,
    t(keyFor(model, "watched.stream_said"), {
      first: significant(values[0], 3),
      last: significant(values[values.length - 1], 3),
    }),
  );
}

/** @param {Cell} cell @param {{ffns: {path: string, stack: string, layer: number, dead: number[], fires: number[]}[]}} units @param {ModelTrace} trace */
function drawDead({ place, said }, { ffns }, trace) {
  const many = stacksOf(trace.model).length > 1;
  drawBarList(place, {
    label: t("watched.dead"),
    bars: ffns.map(({ path, stack, layer, dead, fires }) => {
      const value = `${integer(dead.length)} / ${integer(fires.length)}`;
      return {
        id: path,
        name: many
          ? t("watched.layer_of", { stack: t(`residual.stack.${stack}`), layer })
          : t("watched.layer_n", { layer }),
        share: dead.length / fires.length,
        value,
        words: value,
      };
    }),
  });
  const n = trace.written?.tokens.length ?? trace.sides.source.tokens.length;
  setText(said, t(keyFor(trace.model, "watched.dead_said"), { n }));
}
