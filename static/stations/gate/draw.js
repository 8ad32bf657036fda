/** z = g ⊙ numerator ÷ denominator, and the same with another token's query: only the gate changes. */

import { weightScale } from "../../chart/matrix/scale.js";
import { identityOf } from "../../model/description.js";
import { headOf } from "../../model/identities.js";
import { cellIn } from "../../model/matrix.js";
import { featureOf, position } from "../../model/selection.js";
import { segment } from "../../ui/controls.js";
import { h, perRoot, replace } from "../../ui/dom.js";
import { checkOf, number, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { part } from "../activation_parts.js";
import { drawFeatureMatrix } from "../feature_matrix.js";
import { buildStation, drawHead } from "../opened_head.js";
import { formulaOf, roleName } from "../role_formulas.js";
import { buildOther, drawOther } from "./other.js";
import { own } from "./own.js";

const SUMS = /** @type {const} */ (["mixed", "numerator", "denominator"]);

const partsOf = perRoot((root) => {
  const parts = buildStation(root);
  const [sums, gate, z] = [part("sums"), part("gate"), part("z")];
  const choice = segment(t("gate.sums"), SUMS, "gate-sum", (name) => t(`gate.sum.${name}`));
  sums.tools.append(choice.box);
  const line = h("p", { class: "act-sum", dataset: { testid: "gate-sum-line" } });
  const other = buildOther();
  parts.body.append(sums.element, gate.element, z.element, line, other.element);
  return { ...parts, sums, gate, z, choice, line, other };
});

export function draw(root, trace, state, actions) {
  const parts = partsOf(root);
  const { attention } = trace;
  const feature = featureOf(state, attention);
  const identities = ["mixed", "gate", "z"].map((role) => formulaOf(identityOf(attention, role), role));
  drawHead(parts, trace.model, state, { formula: identities, note: t("gate.note") });
  const shown = own.of(state).sum;
  parts.choice.show(shown, (sum) => actions.set(own.patch({ sum })));
  const matrix = (role) => matrixOf(trace, state, role);
  const of = (role, more) => ({ id: role, title: roleName(role), matrix: matrix(role), feature, ...more });
  drawFeatureMatrix(parts.sums, trace, state, actions, of(shown, {}));
  drawFeatureMatrix(
    parts.gate,
    trace,
    state,
    actions,
    of("gate", { scale: weightScale(), cellText: (value) => number(value, 1) }),
  );
  drawFeatureMatrix(parts.z, trace, state, actions, of("z", {}));
  drawLine(parts.line, matrix, position(state, trace).query, feature);
  drawOther(parts.other, trace, state, actions, matrix);
}

/** One head of a role; a denominator that a head shares is a single column. */
function matrixOf(trace, { layer, head }, role) {
  const found = headOf(trace.role(role, layer), head, trace.attention.n_head, trace.attention.roles[role].dims);
  return found.shape.length === 1 ? { shape: [found.shape[0], 1], data: found.data } : found;
}

/** z of the chosen query and feature, term by term. */
function drawLine(root, matrix, query, feature) {
  const [above, gate, z] = ["numerator", "gate", "z"].map((role) => cellIn(matrix(role), query, feature));
  const below = cellIn(matrix("denominator"), query, Math.min(feature, matrix("denominator").shape[1] - 1));
  const value = below === 0 ? 0 : (gate * above) / below;
  const words = `${significant(gate, 4)} · ${significant(above, 4)} ÷ ${significant(below, 4)} = `;
  const name = [h("i", null, "z"), h("sub", null, `${query}, ${feature}`)];
  replace(
    root,
    h("span", { class: "mono" }, name, " = ", words, h("b", null, significant(value, 5))),
    " ",
    checkOf(value, z),
  );
}
