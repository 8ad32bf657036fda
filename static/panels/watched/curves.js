/** What the run itself measured: its loss, with the mark, and the gradients of each layer. */

import { drawLayerChart, drawStepChart } from "../../chart/curves/line_charts.js";
import { snapshotsOf, together } from "../../model/snapshots.js";
import { h, perRoot, setText } from "../../ui/dom.js";
import { integer, number, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";

/** @import { Known } from "../../model/alike.js" */

const HEIGHT = 230;

/** A small part with a title, a picture and a sentence. @param {string} name */
export function cell(name) {
  const [place, said] = [h("div", { class: "place" }), h("p", { class: "said dim" })];
  return {
    element: h("section", { dataset: { part: name } }, h("h3", null, t(`watched.${name}`)), place, said),
    place,
    said,
  };
}

const partsOf = perRoot((root) => {
  const [loss, gradients] = [cell("loss"), cell("gradients")];
  root.append(loss.element, gradients.element);
  return { loss, gradients };
});

/** @param {HTMLElement} root @param {any} model @param {{place: number, open: (place: number) => void, layer: number, choose: (layer: number) => void,
 *   beside: Known|null}} at  `beside`: whose gradients at step 0 are drawn, too */
export function drawCurves(root, model, at) {
  const parts = partsOf(root);
  drawLoss(parts.loss, model, at);
  drawGradients(parts.gradients, model, at);
}

/** The loss of each batch, and the dots of the snapshots: their loss on the run's first batch. */
function drawLoss({ place: picture, said }, model, { place, open }) {
  const snapshots = snapshotsOf(model);
  const { log } = model;
  /** @type {[number, number][]} */
  const line = log ? log.step.map((step, i) => [step - 1, log.loss[i]]) : [];
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

/** The norm of each layer's gradient at this step: its attention's and its FFN's together. */
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
  const other = others.length ? t("watched.gradients_other", { model: beside.name, ...spanOf(others) }) : "";
  setText(said, `${t("watched.gradients_said", spanOf(lines))} ${t(key)} ${other}`.trim());
}

/** @param {Object<string, number[][]>} gradients */
const linesOf = (gradients) =>
  Object.entries(gradients).map(([name, layers]) => ({ name, values: layers.map(together) }));

/** From the first layer to the last one, in words. @param {{values: number[]}[]} lines */
function spanOf(lines) {
  const { values } = lines[lines.length - 1];
  const [first, last] = [values[0], values[values.length - 1]];
  const numbers = { first: significant(first, 3), last: significant(last, 3), times: significant(last / first, 2) };
  return { ...numbers, layer: values.length - 1 };
}
