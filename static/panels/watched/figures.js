/** What the open model does with the sentence: its prediction, its stream, its units that never fire. */

import { drawLayerChart } from "../../chart/curves/line_charts.js";
import { stacksOf } from "../../model/description.js";
import { rowOf } from "../../model/selection.js";
import { drawBarList } from "../../stations/activation_parts.js";
import { perRoot, replace, setText } from "../../ui/dom.js";
import { integer, percent, significant } from "../../ui/format.js";
import { keyFor, phrase, t } from "../../ui/i18n.js";
import { listedToken, namedToken } from "../../ui/token_text.js";
import { cell } from "./curves.js";

/** @import { ModelTrace } from "../../data/model_trace.js" */

/** How many next tokens are listed. */
const N = 5;

const partsOf = perRoot((root) => {
  const [prediction, stream, dead] = [cell("prediction"), cell("stream"), cell("dead")];
  root.append(prediction.element, stream.element, dead.element);
  return { prediction, stream, dead };
});

/** @param {HTMLElement} root @param {ModelTrace} trace @param {(layer: number) => void} choose */
export function drawFigures(root, trace, state, choose) {
  const parts = partsOf(root);
  const { residual, units } = trace.explained;
  parts.prediction.element.hidden = trace.written === null || state.quiz; // the quiz asks for it
  if (trace.written) drawPrediction(parts.prediction, trace, rowOf(state, trace));
  parts.stream.element.hidden = !residual || residual.refused;
  if (!parts.stream.element.hidden) drawStream(parts.stream, trace, state.layer, choose);
  parts.dead.element.hidden = !units || units.refused;
  if (!parts.dead.element.hidden) drawDead(parts.dead, units, trace);
}

function drawPrediction({ place, said }, trace, row) {
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
  replace(said, phrase("watched.after", { token: namedToken(trace.written.tokens[row], "q", row) }));
}

/** ‖x‖ before the first layer and after every one, the mean over the tokens. */
function drawStream({ place, said }, { explained, model }, layer, choose) {
  const { streams } = explained.residual;
  const mean = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
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
