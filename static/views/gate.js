/** z = g ⊙ numerator ÷ denominator, and the same with another token's query: only the gate changes. */

import { signedScale, weightScale } from "../chart/matrix/scale.js";
import { identityOf } from "../model/description.js";
import { headOf } from "../model/identities.js";
import { namesIn } from "../model/labels.js";
import { cellIn, rowIn } from "../model/matrix.js";
import { featureOf, position } from "../model/selection.js";
import { segment } from "../ui/controls.js";
import { h, perRoot, replace } from "../ui/dom.js";
import { checkOf, number, significant } from "../ui/format.js";
import { phrase, t } from "../ui/i18n.js";
import { namedLabel } from "../ui/token_text.js";
import { drawFeatureMatrix } from "./dimension_pages.js";
import { equationOf, roleName } from "./formulas.js";
import { buildStation, drawHead, nameOfPart, part } from "./parts.js";
import { gateState } from "./view_states.js";

/**
 * @import { Floats, HeadTrace } from "../data/model_trace.js"
 * @import { State } from "../state/store.js"
 * @import { FeatureMatrix } from "./dimension_pages.js"
 * @import { Actions, HeadDraw } from "./view.js"
 */

// The chosen place with another token's query: the weights and the mean stay, the gate and z change.

/** What is compared, in the order in which it is made. @typedef {{mean: Float32Array, gates: Float32Array[], z: Float32Array[]}} Tried */

/** @typedef {ReturnType<typeof buildOther>} Other */

function buildOther() {
  const whole = part("other");
  const select = /** @type {HTMLSelectElement} */ (h("select", { dataset: { testid: "gate-asks" } }));
  whole.tools.append(h("label", { class: "feature-choice" }, t("gate.asks"), " ", select));
  const says = h("p", { class: "said", dataset: { testid: "gate-says" } });
  whole.element.append(says);
  return { ...whole, select, says, listed: "" };
}

/**
 * The mean of a query with its own gate and with another token's: σ(q) of either, times the same mean.
 * @param {(role: string) => Floats} matrix @param {number} query @param {number} other @returns {Tried}
 */
export function tried(matrix, query, other) {
  const mean = rowIn(matrix("mixed"), query);
  /** @type {Float32Array[]} */
  const gates = [query, other].map((row) => rowIn(matrix("gate"), row));
  return { mean, gates, z: gates.map((gate) => gate.map((one, d) => one * mean[d])) };
}

/**
 * @param {Other} parts @param {HeadTrace} trace @param {State} state @param {Actions} actions @param {(role: string) => Floats} matrix
 */
function drawOther(parts, trace, state, actions, matrix) {
  const { query } = position(state, trace);
  const asked = gateState.of(state).asks;
  const labels = namesIn(trace.queries.tokens);
  const other = asked !== null && asked < labels.length ? asked : query;
  list(parts, labels, query, other, (asks) => actions.set(gateState.patch({ asks })));
  nameOfPart(parts, t("gate.other_title"), t("gate.other_about"));
  const { gates, z } = tried(matrix, query, other);
  const isOther = other !== query;
  const rows = isOther ? [gates[0], gates[1], z[0], z[1]] : [gates[0], z[0]];
  const names = isOther
    ? [
        t("gate.row_gate", { token: labels[query] }),
        t("gate.row_gate", { token: labels[other] }),
        t("gate.row_z", { token: labels[query] }),
        t("gate.row_z", { token: labels[other] }),
      ]
    : [t("gate.row_gate", { token: labels[query] }), t("gate.row_z", { token: labels[query] })];
  const shape = [rows.length, gates[0].length];
  const data = Float32Array.from(rows.flatMap((row) => [...row]));
  const most = Math.max(...z.flatMap((row) => Array.from(row, Math.abs))) || 1;
  const tones = Float32Array.from(data, (value, i) => (i < data.length / 2 ? value : value / most));
  const scale = {
    ...signedScale(Float32Array.of(-1, 1)),
    ends: /** @type {[string, string]} */ ([t("gate.low"), t("gate.high")]),
  };
  const feature = featureOf(state, trace.attention);
  parts.place.hidden = !isOther;
  if (isOther)
    drawFeatureMatrix({ ...parts, title: h("h2"), about: h("p") }, trace, state, actions, {
      id: "gate-other",
      title: null,
      matrix: { shape, data },
      feature,
      labels: names,
      row: 3,
      tones,
      scale,
      choice: (_, col) => ({ cell: [query, col] }),
    });
  const token = (/** @type {number} */ row) => namedLabel(labels[row], "q");
  const vars = {
    token: token(query),
    other: token(other),
    d: feature,
    from: significant(z[0][feature], 4),
    to: significant(z[1][feature], 4),
  };
  replace(parts.says, isOther ? phrase("gate.says_other", vars) : t("gate.says_choose"));
}

/**
 * Every token that may ask; the chosen one first means no other.
 * @param {Other} parts @param {string[]} labels @param {number} query @param {number} other @param {(asks: number|null) => void} choose
 */
function list(parts, labels, query, other, choose) {
  const listed = `${labels.join("\n")} ${query}`;
  if (listed !== parts.listed)
    replace(
      parts.select,
      ...labels.map((label, i) =>
        h("option", { value: i }, `${label} ${i}${i === query ? ` (${t("gate.itself")})` : ""}`),
      ),
    );
  parts.listed = listed;
  parts.select.value = String(other);
  parts.select.onchange = () => choose(Number(parts.select.value) === query ? null : Number(parts.select.value));
}

const SUMS = /** @type {const} */ (["mixed", "numerator", "denominator"]);

const elementsOf = perRoot((root) => {
  const parts = buildStation(root);
  const [sums, gate, z] = [part("sums"), part("gate"), part("z")];
  const choice = segment(t("gate.sums"), SUMS, "gate-sum", (name) => t(`gate.sum.${name}`));
  sums.place.after(h("div", { class: "under" }, sums.about, choice.box));
  const line = h("p", { class: "act-sum", dataset: { testid: "gate-sum-line" } });
  const other = buildOther();
  const frame = h("div", { class: "act-columns" }, sums.element, gate.element, z.element);
  parts.body.append(frame, line, other.element);
  return { ...parts, sums, gate, z, choice, line, other };
});

/** @type {HeadDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const { attention } = trace;
  const feature = featureOf(state, attention);
  const identities = ["mixed", "gate", "z"].map((role) => equationOf(identityOf(attention, role), role));
  drawHead(parts, trace.model, state, { formula: identities, note: t("gate.note") });
  const shown = gateState.of(state).sum;
  parts.choice.show(shown, (sum) => actions.set(gateState.patch({ sum })));
  const matrix = (/** @type {string} */ role) => matrixOf(trace, state, role);
  /** @param {string} role @param {Partial<FeatureMatrix>} more @returns {FeatureMatrix} */
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

/**
 * One head of a role; a denominator that a head shares is a single column.
 * @param {HeadTrace} trace @param {State} state @param {string} role @returns {Floats}
 */
function matrixOf(trace, { layer, head }, role) {
  const found = headOf(trace.role(role, layer), head, trace.attention.n_head, trace.attention.roles[role].dims);
  return found.shape.length === 1 ? { shape: [found.shape[0], 1], data: found.data } : found;
}

/**
 * z of the chosen query and feature, term by term.
 * @param {HTMLElement} root @param {(role: string) => Floats} matrix @param {number} query @param {number} feature
 */
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
