/** A = softmax(QKᵀ/√d_k + M): what the opened head looks at; alone, or before | after its causal mask is taken away. */

import { h, perRoot, update } from "../lib/dom.js";
import { legendOf, weightScale } from "../lib/heatmap_scale.js";
import { t } from "../lib/i18n.js";
import { drawBoth } from "./before_after.js";
import * as formulas from "./formulas.js";
import { buildStation, drawHead } from "./opened_head.js";
import { drawWeights } from "./query_key.js";

const partsOf = perRoot((root) => {
  const parts = buildStation(root);
  const choice = (name) =>
    h("button", { type: "button", dataset: { testid: `show-${name}` } }, t(`matrix.show.${name}`));
  const [one, both] = [choice("one"), choice("both")];
  parts.tools.append(h("div", { class: "seg", role: "group", "aria-label": t("matrix.show") }, one, both));
  const places = { one: h("div", null), both: h("div", null) };
  parts.body.append(places.one, places.both);
  return { ...parts, choices: { one, both }, places };
});

export default {
  id: "weights",
  needs: (state) => (state.compare ? ["detail", "other"] : ["detail"]),
  draw(root, trace, state, actions) {
    const parts = partsOf(root);
    const n = trace.tokens.length;
    const shown = state.compare ? "both" : "one";
    for (const name of ["one", "both"]) {
      update(parts.choices[name], { "aria-pressed": name === shown });
      parts.choices[name].onclick = () => actions.set({ compare: name === "both" });
      parts.places[name].hidden = name !== shown;
    }
    const details = state.compare ? [trace.detail, trace.other] : [trace.detail];
    const forbidden = details.some(({ mask }) => mask.data.some(Boolean)) && t("matrix.forbidden_word");
    const legend = legendOf(weightScale(), { number: String, forbidden });
    drawHead(parts, state, { formula: [formulas.weights()], note: t("matrix.rows_sum", { n }), legend });
    if (state.compare) drawBoth(parts.places.both, trace, state, actions);
    else drawWeights(parts.places.one, trace, state, actions, { id: "weights", title: t("matrix.weights"), detail: trace.detail });
  },
};
