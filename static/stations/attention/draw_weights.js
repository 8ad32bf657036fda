/** A = softmax(QKᵀ/√d_k + M): what the open head looks at; or before | after a change of the masks. */

import { legendOf, weightScale } from "../../chart/matrix/scale.js";
import { isCompared } from "../../model/compare/runs.js";
import { h, perRoot, setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { buildStation, drawHead } from "../opened_head.js";
import { drawWeights, leakMargin } from "../query_key.js";
import { both, lines } from "./chosen.js";
import { buildForms, drawForms } from "./forms.js";
import * as formulas from "./formulas.js";
import { blindRows, nothingWords } from "./mask_words.js";
import { unitSize } from "./unit_cells.js";

const partsOf = perRoot((root) => {
  const parts = buildStation(root);
  const choice = (name) =>
    h("button", { type: "button", dataset: { testid: `show-${name}` } }, t(`matrix.show.${name}`));
  const [alone, both] = [choice("alone"), choice("both")];
  parts.tools.append(h("div", { class: "seg", role: "group", "aria-label": t("matrix.show") }, alone, both));
  const places = { alone: h("div", null), both: h("div", null) };
  const note = h("p", { class: "why dim", dataset: { testid: "blind" } });
  const forms = buildForms(parts.tools, parts.body);
  parts.body.append(note, places.alone, places.both);
  return { ...parts, forms, note, choices: { alone, both }, places };
});

export function draw(root, trace, state, actions) {
  const parts = partsOf(root);
  const [rows, cols] = unitSize(trace, state);
  const compared = isCompared(state, trace.model);
  const shown = compared ? "both" : "alone";
  for (const name of ["alone", "both"]) {
    update(parts.choices[name], { "aria-pressed": name === shown, disabled: name === "both" && trace.file !== null });
    parts.choices[name].onclick = () =>
      actions.set({ compare: name === "both", ...(name === "alone" && { against: null }) });
    parts.places[name].hidden = name !== shown;
  }
  const details = compared ? [trace.detail, trace.other] : [trace.detail];
  const forbidden = details.some(({ mask }) => mask.data.some(Boolean)) ? t("matrix.forbidden_word") : null;
  const blind = blindRows(trace.detail.mask);
  const legend = lines.code?.linesLegend(trace, state) ?? legendOf(weightScale(), { number: String, forbidden });
  const note = t(blind.length ? "matrix.rows_sum_but" : "matrix.rows_sum", { rows, cols });
  drawHead(parts, trace.model, state, { formula: [formulaOf(trace.attention)], note, legend });
  parts.note.hidden = blind.length === 0;
  setText(parts.note, blind.length ? nothingWords(blind) : "");
  parts.places.alone.hidden = drawForms(parts.forms, trace, state, actions) || compared;
  if (compared) both.draw(parts.places.both, trace, state, actions);
  else if (!parts.places.alone.hidden) drawOne(parts.places.alone, trace, state, actions);
}

function drawOne(place, trace, state, actions) {
  const { detail } = trace;
  const margin = leakMargin(trace, detail);
  drawWeights(place, trace, state, actions, { id: "weights", title: t("matrix.weights"), detail, margin });
}

/** Only the pattern is a softmax of scores; other weights are shown under their own name. */
const formulaOf = ({ overview }) => (overview === "pattern" ? formulas.weights() : formulas.plain(overview));
