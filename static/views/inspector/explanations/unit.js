/** The arithmetic of one FFN unit on one token: the inputs that drive it, the effect of the activation, and what it writes. */

import { drawTermBars } from "../../../chart/bars/bars.js";
import { activationOf, chosenUnit } from "../../../model/activations.js";
import { columnIn, lengthOf, products, rowIn, sum } from "../../../model/matrix.js";
import { position } from "../../../model/selection.js";
import { h, perRoot, replace } from "../../../ui/dom.js";
import { checkOf, signed, significant } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import {
  buildExplanation,
  drawKeyFigures,
  drawSays,
  drawSentence,
  drawTitle,
  tokenInRole,
  unitNames,
  value,
} from "../parts.js";

/**
 * @import { Floats } from "../../../data/model_trace.js"
 * @import { Activation } from "../../../model/activations.js"
 * @import { FetchedDraw } from "../../view.js"
 * @import { Explained } from "../parts.js"
 */

const stepsOf = buildExplanation(["terms", "bias", "activation", "gate", "writes"]);
const elementsOf = perRoot((root) => {
  const parts = stepsOf(root);
  const back = h("button", { class: "btn quiet back-to-units", type: "button", dataset: { testid: "all-units" } });
  back.append(t("ffn.card_back"));
  root.prepend(back);
  return { ...parts, back };
});

/**
 * @typedef {{unit: number, pre: number, post: number, up: number|null, activation: Activation, writes: string}} Fired  one unit; `up`: its
 *   gate; `writes`: a key of the catalogue
 */

/** @type {FetchedDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  parts.back.hidden = state.view !== "ffn" || state.quiz;
  parts.back.onclick = () => actions.set({ ffnUnit: null });
  const { taps, weights, place, activation, mixes } = unitNames(state, trace.model);
  const { query } = position(state, trace);
  const part = (/** @type {string} */ name) => rowIn(trace.tensor(name), query);
  const [x, pre, post] = [part(taps.input), part(taps.pre), part(taps.post)];
  const unit = chosenUnit(state, post);
  drawTitle(
    parts,
    "inspector.title_unit",
    phrase("inspector.unit_of", {
      unit: value(String(unit)),
      token: tokenInRole(trace.queries.tokens, query, "q"),
    }),
  );
  drawDrive(parts.steps, x, rowIn(trace.weight(weights.w1), unit), {
    bias: weights.b1 === null ? null : trace.weight(weights.b1).data[unit],
    pre: pre[unit],
  });
  drawEffect(parts, trace.weight(weights.w2), {
    unit,
    pre: pre[unit],
    post: post[unit],
    up: taps.up === undefined ? null : part(taps.up)[unit],
    activation: activationOf(activation),
    writes: mixes
      ? "inspector.unit_writes_gated"
      : place === "pre"
        ? "inspector.unit_writes"
        : "inspector.unit_writes_normed",
  });
  const about = {
    unit: value(String(unit)),
    token: tokenInRole(trace.queries.tokens, query, "q"),
    value: value(significant(post[unit])),
  };
  drawSays(parts, phrase(saysOf(activationOf(activation), post[unit]), about));
  replace(parts.note, t(mixes ? "inspector.unit_note_shifted" : "inspector.unit_note"));
}

/** A unit "fires" only if the activation sets the others to exactly 0. @param {Activation} activation @param {number} post */
const saysOf = ({ silences }, post) =>
  silences ? (post > 0 ? "inspector.says_fires" : "inspector.says_silent") : "inspector.says_unit";

/** x·w + b, and the model's own `pre`. @param {Explained["steps"]} steps @param {ArrayLike<number>} x @param {ArrayLike<number>} w @param {{bias: number|null, pre: number}} unit */
function drawDrive(steps, x, w, { bias, pre }) {
  const terms = products(x, w);
  const dot = sum(terms);
  drawSentence(steps.terms, "inspector.unit_dot", { n: terms.length, value: value(significant(dot)) });
  drawTermBars(steps.terms.more, {
    terms,
    label: t("inspector.unit_label", { n: terms.length }),
    words: (d) => t("inspector.unit_term", { d, x: signed(x[d], 3), w: signed(w[d], 3), value: signed(terms[d], 3) }),
  });
  const total = value(significant(dot + (bias ?? 0)));
  if (bias === null) drawSentence(steps.bias, "inspector.unit_no_bias", { value: total }, checkOf(dot, pre));
  else drawSentence(steps.bias, "inspector.unit_bias", { b: signed(bias, 4), value: total }, checkOf(dot + bias, pre));
}

/** The activation of pre, times the gate if there is one, and the length of what it writes: post·‖its row of W₂‖; a LayerNorm that follows changes that. @param {Explained} parts @param {Floats} w2 @param {Fired} fired */
function drawEffect(parts, w2, { unit, pre, post, up, activation, writes }) {
  const { steps } = parts;
  drawActivation(steps, { pre, post, up, activation });
  const length = Math.abs(post) * lengthOf(columnIn(w2, unit)); // w2 [d_model d_ff]: the unit is a column
  drawKeyFigures(parts, [
    [t("inspector.figure_pre", { activation: activation.name }), significant(pre)],
    [
      t(up === null ? "inspector.figure_post" : "inspector.figure_gated", { activation: activation.name }),
      significant(post),
    ],
    [t("inspector.figure_writes"), significant(length)],
  ]);
  drawSentence(steps.writes, post !== 0 ? writes : "inspector.unit_writes_nothing", {
    value: value(significant(length)),
  });
}

/** An activation with a formula here is computed again; of any other, only the model's number is shown. @param {Explained["steps"]} steps @param {Pick<Fired, "pre"|"post"|"up"|"activation">} fired */
function drawActivation(steps, { pre, post, up, activation: { name, of, silences, squares } }) {
  const fires = squares ? "unit_squared" : "unit_fires";
  const key = of === null ? "unit_unknown" : silences ? (pre > 0 ? fires : "unit_silent") : "unit_activated";
  const after = of === null ? post : of(pre);
  const checked = of !== null && up === null ? [checkOf(after, post)] : [];
  drawSentence(
    steps.activation,
    `inspector.${key}`,
    { activation: name, value: value(significant(after)) },
    ...checked,
  );
  steps.gate.item.hidden = up === null || of === null;
  if (up === null || of === null) return;
  const vars = { gate: signed(up, 4), value: value(significant(after * up)) };
  drawSentence(steps.gate, "inspector.unit_gate", vars, checkOf(after * up, post));
}
