/** The arithmetic of one element of z = A·V: what each key hands over in one dimension, weighted, and their sum. */

import { attentionOf, tapOf } from "../../data/attentions.js";
import { checkOf } from "../../lib/agreement.js";
import { significant, signed } from "../../lib/format.js";
import { phrase, t } from "../../lib/i18n.js";
import { tokenLabel } from "../../lib/labels.js";
import { drawTermBars, largest } from "../../lib/term_bars.js";
import { position } from "../../selectors.js";
import { at, buildWhy, drawLine, drawTitle, named, value } from "./parts.js";
import { productsOf, row, sum } from "./weight_terms.js";

const partsOf = buildWhy(["terms", "sum"]);
const tapOfZ = (state, model) => tapOf(attentionOf(model, state.attention), state.layer, "z");

export default {
  needs: (state, model) => ["detail", `tensor:${tapOfZ(state, model)}`],
  draw(root, trace, state, actions) {
    const parts = partsOf(root);
    const { v, pattern } = trace.detail;
    const z = headOf(trace.tensor(tapOfZ(state, trace.model)), state.head);
    const { query, d } = elementOf(state, trace, z);
    const weights = row(pattern, query);
    const column = Array.from(weights, (_, j) => v.data[j * v.shape[1] + d]);
    const terms = productsOf(weights, column);
    drawTitle(parts, "why.title_z", phrase("why.z_of", { query: named(trace.queries.tokens[query], "q"), i: at(query), d: value(String(d)) }));
    drawLine(parts.steps.terms, "why.z_terms", { n: terms.length, a: value("a"), v: value("v", "v") });
    drawTermBars(parts.steps.terms.more, {
      terms,
      label: t("why.z_label", { d, n: terms.length }),
      words: (j) => t("why.z_term", { key: tokenLabel(trace.keys.tokens[j]), j, a: significant(weights[j]), v: signed(column[j], 3), value: signed(terms[j], 3) }),
      onChoose: (j) => actions.set({ key: j }),
    });
    const total = sum(terms);
    drawLine(parts.steps.sum, "why.z_sum", { value: value(significant(total)) }, checkOf(total, row(z, query)[d]));
  },
};

/** One head of a tensor [head, position, d_head]. */
function headOf({ shape: [, rows, cols], data }, head) {
  return { shape: [rows, cols], data: data.subarray(head * rows * cols, (head + 1) * rows * cols) };
}

/** The chosen dimension of the query's row; without a choice its largest. */
function elementOf(state, trace, z) {
  const { query } = position(state, trace);
  return { query, d: state.cell ? Math.min(state.cell[1], z.shape[1] - 1) : largest(row(z, query)) };
}
