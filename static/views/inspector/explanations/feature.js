/**
 * The arithmetic of one weight without a QKᵀ (AFT, RWKV): k, + what position adds, + M, exp, ÷ the row's sum; then the mean
 * over the features, and what the key contributes through the gate.
 */

import { drawTermBars } from "../../../chart/bars/bars.js";
import { identityOf, showsMeans } from "../../../model/description.js";
import { headOf } from "../../../model/identities.js";
import { cellIn, headIn, indexOfMost, rowIn, sum } from "../../../model/matrix.js";
import { featureOf, position } from "../../../model/selection.js";
import { featureParts, featureTerms, sliceOf } from "../../../model/weight_arithmetic.js";
import { queryName } from "../../../model/written.js";
import { h, replace } from "../../../ui/dom.js";
import { checkedNumber, checkOf, number, percent, signed, significant } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import { math, mi, mo } from "../../../ui/mathml.js";
import { reasonOf } from "../../query_key.js";
import { drawCard, labelOf, nameIn, whereOf } from "../card.js";
import { buildCardAndSteps, drawKeyFigures, drawSays, drawSentence, drawTitle, tokenInRole, value } from "../parts.js";

/**
 * @import { HeadTrace } from "../../../data/model_trace.js"
 * @import { State } from "../../../state/store.js"
 * @import { HeadDraw } from "../../view.js"
 * @import { Line } from "../card.js"
 * @import { Explained, Step } from "../parts.js"
 */

const elementsOf = buildCardAndSteps(["key", "position", "mask", "exp", "weight", "mean", "part"]);

/** @typedef {ReturnType<typeof aboutOf>} About */

/** @type {HeadDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const about = aboutOf(trace, state);
  const { query, tokens, terms, f } = about;
  drawTitle(parts, "inspector.title", phrase("inspector.takes", tokens()));
  drawSays(parts, saysOf(about));
  drawWeight(parts.steps, trace, about);
  drawMean(parts.steps.mean, trace, about, (feature) => actions.set({ cell: [query, feature] }));
  const part = drawPart(parts, trace, state, about);
  drawFeatureCard(parts.card, trace, state, about, part);
  replace(parts.note, t("inspector.feature_note", { q: about.gated }));
  parts.steps.position.item.hidden = !about.placed;
  for (const name of ["exp", "weight"]) parts.steps[name].item.hidden = terms.reasons !== 0;
  parts.steps.weight.item.dataset.feature = String(f);
}

/** Everything that the sentence and the steps are about. @param {HeadTrace} trace @param {State} state */
function aboutOf(trace, state) {
  const { attention, detail, queries, keys } = trace;
  const { query, key } = position(state, trace);
  const parts = featureParts(trace);
  const shared = parts.k.shape[1] === 1 && attention.d_head > 1; // one weight for all features of the head
  const f = featureOf(state, attention);
  const terms = featureTerms(parts, query, key, f);
  const isMean = showsMeans(attention);
  const all = isMean
    ? Array.from({ length: attention.d_head }, (_, d) => featureTerms(parts, query, key, d).weight)
    : [];
  return {
    query,
    key,
    f,
    terms,
    shared,
    all,
    mean: isMean ? sum(all) / all.length : 0,
    model: cellIn(detail.overview, query, key),
    placed: Boolean(parts.bias || parts.decay),
    parts,
    keys,
    gated: identityOf(attention, "gate")?.of[0] ?? "q", // r, the receptance, in RWKV
    tokens: () => ({ query: tokenInRole(queries.tokens, query, "q"), key: tokenInRole(keys.tokens, key, "k") }), // new elements for each place
  };
}

/** One sentence: how much is taken from the key, in a feature or on average. @param {About} about */
function saysOf({ tokens, terms, f, shared, all, mean, keys, parts, query }) {
  if (terms.reasons) return phrase("inspector.says_left_out", { ...tokens(), reason: reasonOf(terms.reasons) });
  const vars = { ...tokens(), f, p: value(percent(terms.weight)) };
  if (all.length) {
    const most = indexOfMost(all);
    return phrase("inspector.says_mean", { ...vars, mean: value(percent(mean)), most, q: value(percent(all[most])) });
  }
  const row = keys.tokens.map((_, j) => featureTerms(parts, query, j, f).weight);
  const most = tokenInRole(keys.tokens, indexOfMost(row), "k");
  return phrase(shared ? "inspector.says_takes" : "inspector.says_feature", {
    ...vars,
    most,
    q: value(percent(Math.max(...row))),
  });
}

/** k, + position, + M, exp, ÷ the sum. @param {Explained["steps"]} steps @param {HeadTrace} trace @param {About} about */
function drawWeight(steps, trace, { terms, f, shared, parts, query, key, keys, tokens }) {
  const { k, position: placed, reasons, exps, exp, rowSum, weight, nAllowed, shift, logit } = terms;
  drawSentence(steps.key, shared ? "inspector.key_shared" : "inspector.key", {
    k: value("k", "k"),
    key: tokens().key,
    f,
    value: value(number(k, 4)),
  });
  drawSentence(steps.position, positionKey(parts, query, key), {
    n: parts.places ? Math.max(0, parts.places[query] - parts.places[key] - 1) : 0,
    w: parts.decay ? number(Math.exp(parts.decay[f]), 4) : "",
    value: value(signed(placed, 4)),
  });
  drawSentence(
    steps.mask,
    reasons ? "inspector.left_out" : "inspector.allowed",
    reasons ? { reason: reasonOf(reasons) } : { value: value(number(logit, 4)) },
  );
  if (reasons) return;
  const vars = {
    value: value(significant(exp, 5)),
    sum: value(significant(rowSum, 5)),
    n: nAllowed,
    shift: number(shift, 2),
  };
  drawSentence(steps.exp, "inspector.exp_shifted", vars);
  drawTermBars(steps.exp.more, {
    terms: exps,
    chosen: key,
    label: t("inspector.exps_label", { n: nAllowed }),
    words: (j) => t("inspector.exps_term", { key: nameIn(keys.tokens, j), value: significant(exps[j], 4) }),
  });
  const own = ownOf(trace, f, shared);
  const check = own ? [checkOf(weight, cellIn(own, query, key))] : [];
  drawSentence(
    steps.weight,
    shared ? "inspector.weight" : "inspector.weight_feature",
    { f, value: value(significant(weight)) },
    ...check,
  );
}

/** The model's weights of the feature, if they were requested. @param {HeadTrace} trace @param {number} f @param {boolean} shared */
function ownOf({ attention, detail, role }, f, shared) {
  if (shared) return detail.overview;
  const all = role("weights", detail.layer);
  return all && sliceOf(headOf(all, detail.head, attention.n_head), f);
}

/** @param {About["parts"]} parts @param {number} query @param {number} key */
function positionKey({ decay }, query, key) {
  if (!decay) return "inspector.position";
  return query === key ? "inspector.position_own" : "inspector.position_decays";
}

/** The mean over the features, as the pictures of all groups show it. @param {Step} step @param {HeadTrace} trace @param {About} about @param {(feature: number) => void} choose */
function drawMean(step, trace, { all, mean, model }, choose) {
  step.item.hidden = all.length === 0;
  if (!all.length) return;
  drawSentence(step, "inspector.mean", { n: all.length, value: value(significant(mean)) }, checkOf(mean, model));
  drawTermBars(step.more, {
    terms: all,
    label: t("inspector.mean_label", { n: all.length }),
    words: (d) => t("inspector.mean_term", { f: d, value: significant(all[d], 4) }),
    onChoose: choose,
  });
}

/** gate · weight · v in the feature, as a part of z. @param {Explained} parts @param {HeadTrace} trace @param {State} state @param {About} about */
function drawPart(parts, trace, { layer, head }, { terms, f, query, key, all, mean, gated }) {
  const [gate, z] = ["gate", "z"].map((role) => cellIn(headIn(trace.role(role, layer), head), query, f));
  const v = cellIn(trace.detail.v, key, f);
  const part = gate * terms.weight * v;
  drawSentence(parts.steps.part, "inspector.gated_part", {
    q: gated,
    f,
    gate: significant(gate, 4),
    a: significant(terms.weight, 4),
    v: signed(v, 4),
    value: value(signed(part, 4)),
    z: signed(z, 4),
  });
  /** @type {[string, string][]} */
  const means = all.length ? [[t("inspector.figure_mean_weight"), significant(mean)]] : [];
  drawKeyFigures(parts, [
    ...means,
    [t(all.length ? "inspector.figure_weight_feature" : "inspector.figure_weight", { f }), significant(terms.weight)],
    [t("inspector.figure_gate", { f }), significant(gate)],
  ]);
  return { gate, v, part };
}

/**
 * The same in short: a line for each step.
 * @param {HTMLElement} root @param {HeadTrace} trace @param {State} state @param {About} about @param {{gate: number, v: number, part: number}} passed
 */
function drawFeatureCard(root, trace, state, about, { gate, v, part }) {
  const { query, key, terms, f, shared, all, mean, model, parts, placed, gated } = about;
  const { reasons, exps, exp, rowSum, weight } = terms;
  const names = { query: queryName(trace, query), key: nameIn(trace.keys.tokens, key) };
  const own = ownOf(trace, f, shared);
  const k = rowIn(parts.k, key);
  const chosen = shared ? 0 : f;
  const bars = { values: exps, look: /** @type {const} */ ("signed"), chosen: key };
  const ratio = reasons || rowSum === 0 ? "0" : `${significant(exp, 4)} ÷ ${significant(rowSum, 4)}`;
  const shown = significant(weight);
  /** @type {(Line|false)[]} */
  const lines = [
    {
      name: "key",
      label: labelOf("k", names.key, "k"),
      bars: { values: k, look: "k", chosen },
      output: number(terms.k, 2),
    },
    placed && {
      name: "position",
      label: math(mo("+"), mi("w")),
      words: t("card.bias"),
      output: signed(terms.position, 2),
    },
    {
      name: "mask",
      label: "+ M",
      words: reasons ? reasonOf(reasons) : t("card.allowed"),
      output: reasons ? "−∞" : "+ 0",
    },
    { name: "exp", label: ["e", h("sup", null, "s"), " ÷ Σ"], bars, output: ratio },
    {
      name: "weight",
      label: t("card.weight"),
      share: weight,
      output: own ? checkedNumber(weight, cellIn(own, query, key), shown) : shown,
    },
    all.length > 0 && {
      name: "mean",
      label: t("card.mean"),
      bars: { values: all, look: "signed", chosen: f },
      output: checkedNumber(mean, model, significant(mean)),
    },
    {
      name: "part",
      label: `× σ(${gated}) · v`,
      words: `${significant(gate, 3)} × ${significant(weight, 3)} × ${number(v, 3)}`,
      output: signed(part, 4),
    },
  ];
  const where = shared ? whereOf(trace.model, state) : t("card.feature", { layer: state.layer, f });
  drawCard(
    root,
    { ...names, where, value: significant(weight) },
    lines.filter((line) => line !== false),
  );
}
