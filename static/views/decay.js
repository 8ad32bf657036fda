/** Each channel's half-life, and what the state of the chosen group holds before each token. */

import { drawTermBars } from "../chart/bars/bars.js";
import { signedScale, weightScale } from "../chart/matrix/scale.js";
import { parameterOf } from "../model/description.js";
import { headOf } from "../model/identities.js";
import { tokenName } from "../model/labels.js";
import { cellIn, columnIn } from "../model/matrix.js";
import { featureOf, position } from "../model/selection.js";
import { featureParts, featureTerms, halfLife, statesOf } from "../model/weight_arithmetic.js";
import { h, perRoot, replace } from "../ui/dom.js";
import { checkOf, number, percent, significant } from "../ui/format.js";
import { t } from "../ui/i18n.js";
import { frac, math, mi, mn, mo, row, sub, sup } from "../ui/mathml.js";
import { drawFeatureMatrix } from "./dimension_pages.js";
import { drawLengths } from "./lengths.js";
import { buildStation, drawHead, foldedPart, nameOfPart, part } from "./parts.js";

/**
 * @import { HeadTrace } from "../data/model_trace.js"
 * @import { Parts } from "../model/weight_arithmetic.js"
 * @import { State } from "../state/store.js"
 * @import { Part } from "./parts.js"
 * @import { Actions, HeadDraw } from "./view.js"
 */

/** The two sums of each channel's state, and the mean that they give. */
const PAD = 2;

/** @typedef {Required<Omit<Parts, "bias">>} Made  of RWKV @typedef {ReturnType<typeof statesOf>} States  of one channel */

/**
 * The state of every channel before each token and after the last.
 * @param {Pick<HeadTrace, "detail"|"attention">} trace @param {Pick<Made, "k"|"decay"|"mask">} made
 */
export function channels({ detail, attention }, { k, decay, mask }) {
  const real = (/** @type {number} */ i) => !(cellIn(mask, i, i) & PAD);
  return Array.from({ length: attention.d_head }, (_, d) =>
    statesOf({ k: columnIn(k, d), v: columnIn(detail.v, d), decay: decay[d], real }),
  );
}

/**
 * a/b of each channel: what the state would give by itself; hatched where there is no state yet.
 * @param {Part} place @param {HeadTrace} trace @param {State} state @param {Actions} actions @param {States[]} all @param {number} feature
 */
function drawStates(place, trace, state, actions, all, feature) {
  const n = trace.queries.tokens.length;
  const [data, empty] = [new Float32Array(n * all.length), new Uint8Array(n * all.length)];
  for (let i = 0; i < n; i++)
    for (let d = 0; d < all.length; d++) {
      const { above, below } = all[d][i];
      data[i * all.length + d] = below === 0 ? 0 : above / below;
      empty[i * all.length + d] = below === 0 ? 1 : 0;
    }
  drawFeatureMatrix(place, trace, state, actions, {
    id: "state",
    title: t("decay.states"),
    matrix: { shape: [n, all.length], data },
    feature,
    forbidden: empty,
    scale: signedScale(data, "v"),
    say(row, col) {
      const { above, below, top } = all[col][row];
      if (below === 0) return t("decay.empty");
      return t("decay.state", {
        a: significant(above, 4),
        b: significant(below, 4),
        top: significant(top, 4),
        value: significant(above / below, 5),
      });
    },
  });
}

/**
 * The chosen token's mean by the recurrence, beside the model's matrix form.
 * @param {HTMLElement} root @param {HeadTrace} trace @param {State} state @param {Made} made @param {States} states @param {number} feature
 */
function drawChannelLine(root, trace, state, { k, bonus, mask }, states, feature) {
  const { query } = position(state, trace);
  const { above, below, top } = states[query];
  const own = cellIn(k, query, feature) + bonus[feature];
  const shift = Math.max(top, own);
  const [kept, added] = [below === 0 ? 0 : Math.exp(top - shift), Math.exp(own - shift)];
  const value = (kept * above + added * cellIn(trace.detail.v, query, feature)) / (kept * below + added);
  const mixed = cellIn(headOf(trace.role("mixed", state.layer), state.head, trace.attention.n_head), query, feature);
  const edited = mask.data.some((reasons) => reasons > 3); // a state knows no cut
  const name = [h("i", null, "y"), h("sub", null, `${query}, ${feature}`)];
  replace(
    root,
    edited
      ? t("decay.edited")
      : [
          h("span", { class: "mono" }, name, " = ", h("b", null, significant(value, 5))),
          " ",
          t("decay.recurrence"),
          " ",
          checkOf(value, mixed),
        ],
  );
}

// How fast each channel forgets.

/**
 * Half-lives of all channels, a row for each group; the darker, the longer, on a logarithmic scale.
 * @param {Part} place @param {HeadTrace} trace @param {State} state @param {Actions} actions @param {number} feature
 */
function drawLives(place, trace, state, actions, feature) {
  const { attention, weight } = trace;
  const decay = weight(/** @type {string} */ (parameterOf(attention, state.layer, "decay")));
  const lives = Float32Array.from(decay.data, halfLife);
  const logs = Array.from(lives, Math.log);
  const [low, high] = [Math.min(...logs), Math.max(...logs)];
  const groups = Array.from({ length: attention.n_head }, (_, head) => t("decay.group", { head }));
  drawFeatureMatrix(place, trace, state, actions, {
    id: "half-life",
    title: t("decay.lives"),
    matrix: { shape: [attention.n_head, attention.d_head], data: lives },
    feature,
    labels: groups,
    row: state.head,
    tones: Float32Array.from(logs, (one) => (high > low ? (one - low) / (high - low) : 1)),
    scale: {
      ...weightScale(),
      ends: [
        t("decay.tokens", { n: significant(Math.exp(low), 2) }),
        t("decay.tokens", { n: significant(Math.exp(high), 3) }),
      ],
    },
    cellText: (value) => (value >= 10 ? number(value, 0) : number(value, 1)),
    say: (head, d) => t("decay.tokens", { n: significant(lives[head * attention.d_head + d], 4) }),
    choice: (head, d) => ({ head, cell: [position(state, trace).query, d] }),
  });
}

// What one channel still holds of each token.

/**
 * What is left of each token in the state before the chosen one: bars by token.
 * @param {Part} place @param {HeadTrace} trace @param {State} state @param {Actions} actions @param {Made} made @param {number} feature
 */
function drawHeld(place, trace, state, actions, made, feature) {
  const { query } = position(state, trace);
  const { tokens } = trace.keys;
  const exps = featureTerms(made, query, query, feature)
    .exps.map((one, i) => (i < query ? one : 0))
    .slice(0, Math.max(query, 1));
  const total = exps.reduce((one, other) => one + other, 0);
  const shares = exps.map((one) => (total === 0 ? 0 : one / total));
  const life = t("decay.tokens", { n: significant(halfLife(made.decay[feature]), 3) });
  nameOfPart(
    place,
    t("decay.held", { d: feature, token: tokenName(trace.queries.tokens[query]) }),
    t(total ? "decay.held_about" : "decay.empty", { life }),
  );
  place.place.hidden = total === 0;
  if (total === 0) return;
  drawTermBars(place.place, {
    terms: shares,
    label: t("decay.held_label", { n: shares.length }),
    words: (i) => t("decay.held_term", { key: tokenName(tokens[i]), i, share: percent(shares[i]) }),
    onChoose: (key) => actions.set({ query, key }),
  });
}

const elementsOf = perRoot((root) => {
  const parts = buildStation(root);
  const [lives, states, held] = ["half_lives", "states", "held"].map(part);
  const lengths = foldedPart("lengths");
  const line = h("p", { class: "act-sum", dataset: { testid: "decay-sum" } });
  const first = h("div", { class: "act-column" }, lives.element, held.element);
  const second = h("div", { class: "act-column" }, states.element, line);
  parts.body.append(h("div", { class: "act-columns" }, first, second), lengths.element);
  return { ...parts, lives, states, line, held, lengths };
});

/** @type {HeadDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const feature = featureOf(state, trace.attention);
  const made = /** @type {Made} */ (featureParts(trace));
  drawHead(parts, trace.model, state, { formula: formulas(), note: t("decay.note") });
  drawLives(parts.lives, trace, state, actions, feature);
  const all = channels(trace, made);
  drawStates(parts.states, trace, state, actions, all, feature);
  drawChannelLine(parts.line, trace, state, made, all[feature], feature);
  drawHeld(parts.held, trace, state, actions, made, feature);
  drawLengths(parts.lengths, trace, actions);
}

/** How the state grows, and what it gives (Peng et al. 2023, equations 16 and 17). */
function formulas() {
  const at = (/** @type {string} */ name, /** @type {Node[]} */ ...index) => sub(mi(name), row(...index));
  const before = () => [mi("t"), mo("−"), mn(1)];
  const power = (/** @type {Node[]} */ ...exponent) => sup(mi("e"), row(...exponent));
  const fallen = (/** @type {string} */ name) => row(power(mo("−"), mi("w")), at(name, ...before()));
  const key = () => sub(mi("k", "k"), mi("t"));
  const own = () => power(mi("u"), mo("+"), key());
  return [
    math(at("a", mi("t")), mo("="), fallen("a"), mo("+"), power(key()), sub(mi("v", "v"), mi("t"))),
    math(at("b", mi("t")), mo("="), fallen("b"), mo("+"), power(key())),
    math(
      at("y", mi("t")),
      mo("="),
      frac(
        row(at("a", ...before()), mo("+"), own(), sub(mi("v", "v"), mi("t"))),
        row(at("b", ...before()), mo("+"), own()),
      ),
    ),
  ];
}
