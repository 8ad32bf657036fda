/** The arithmetic of one LayerNorm on one token: mean, variance, then for one feature (x − mean)/√(variance + ε)·γ + β. */

import { attentionOf } from "../../data/attentions.js";
import { endsOf, prefixOf, sublayersOf } from "../../data/anatomy.js";
import { checkOf } from "../../lib/agreement.js";
import { h, perRoot, replace, update } from "../../lib/dom.js";
import { significant, signed } from "../../lib/format.js";
import { phrase, t } from "../../lib/i18n.js";
import { drawTermBars, largest } from "../../lib/term_bars.js";
import { position } from "../../selectors.js";
import { at, buildWhy, drawLine, drawTitle, named, value } from "./parts.js";
import { row, sum } from "./weight_terms.js";

const stepsOf = buildWhy(["input", "mean", "hat", "out"]);
const partsOf = perRoot((root) => {
  const parts = stepsOf(root);
  const choice = h("select", { "aria-label": t("why.norm_choose"), dataset: { testid: "norm-choice" } });
  parts.figures.before(h("p", null, choice));
  return { ...parts, choice, open: /** @type {string|null} */ (null), feature: /** @type {number|null} */ (null), of: "" };
});

/** The LayerNorms of the open block, and the one behind the last: [kind, path]. */
function normsOf(state, model) {
  const prefix = prefixOf(attentionOf(model, state.attention));
  const own = sublayersOf(model, prefix, state.layer).map(({ kind, norm }) => [kind, norm]);
  const { finalNorm } = endsOf(model, prefix);
  return finalNorm && state.layer === model.n_layer - 1 ? [...own, ["final", finalNorm]] : own;
}

export default {
  needs: (state, model) =>
    normsOf(state, model).flatMap(([, path]) => [`tensor:${path}.input`, `tensor:${path}.out`, `weight:${path}.weight`, `weight:${path}.bias`]),
  draw(root, trace, state, actions) {
    const parts = partsOf(root);
    const norms = normsOf(state, trace.model);
    const [kind, path] = norms.find(([one]) => one === parts.open) ?? norms[0];
    drawChoice(parts, norms, kind, () => this.draw(root, trace, state, actions));
    const { query } = position(state, trace);
    const part = (name) => row(trace.tensor(`${path}.${name}`), query);
    const [x, out] = [part("input"), part("out")];
    if (parts.of !== path) Object.assign(parts, { of: path, feature: null });
    drawTitle(parts, "why.title_norm", phrase("why.norm_of", { token: named(trace.queries.tokens[query], "q"), i: at(query) }));
    const choose = (d) => {
      parts.feature = d;
      drawSteps(parts, trace, path, x, out, choose);
    };
    drawSteps(parts, trace, path, x, out, choose);
  },
};

function drawChoice(parts, norms, open, again) {
  replace(parts.choice, norms.map(([kind]) => h("option", { value: kind, selected: kind === open }, t(`why.norm_${kind}`))));
  parts.choice.onchange = () => {
    parts.open = parts.choice.value;
    again();
  };
}

function drawSteps(parts, trace, path, x, out, onChoose) {
  const { steps } = parts;
  const [gain, bias] = [trace.weight(`${path}.weight`).data, trace.weight(`${path}.bias`).data];
  const mean = sum(x) / x.length;
  const variance = sum(Array.from(x, (one) => (one - mean) ** 2)) / x.length;
  const deviation = Math.sqrt(variance + trace.model.layer_norm_eps);
  const d = parts.feature ?? largest(x);
  const hat = (x[d] - mean) / deviation;
  const total = hat * gain[d] + bias[d];
  drawLine(steps.input, "why.norm_input", { n: x.length });
  drawTermBars(steps.input.more, { terms: x, chosen: d, onChoose, label: t("why.norm_label", { n: x.length }), words: (i) => t("why.norm_feature", { d: i, value: signed(x[i], 4) }) });
  update(steps.input.item, { title: t("why.norm_click") });
  drawLine(steps.mean, "why.norm_mean", { mean: value(significant(mean)), variance: value(significant(variance)) });
  const vars = { d, x: signed(x[d], 4), mean: mean < 0 ? `(${significant(mean)})` : significant(mean), deviation: significant(deviation), value: value(significant(hat)) };
  drawLine(steps.hat, "why.norm_hat", vars);
  drawLine(steps.out, "why.norm_out", { gain: significant(gain[d]), bias: signed(bias[d], 4), value: value(significant(total)) }, checkOf(total, out[d]));
}
