/** The FFN of a layer: its units on each token before and after the activation, and the strongest tokens of a unit. */

import { scaleLegend, signedScale } from "../../chart/matrix/scale.js";
import { rampStops } from "../../chart/theme.js";
import { activationOf, chosenUnit } from "../../model/activations.js";
import { isUnchanged } from "../../model/compare/compare.js";
import { editing, isDifference } from "../../model/compare/runs.js";
import { attentionOf, attentionsOf } from "../../model/description.js";
import { isPartOff, partAt, partToggled } from "../../model/formula_edits.js";
import { tokenName } from "../../model/labels.js";
import { rowIn } from "../../model/matrix.js";
import { position } from "../../model/selection.js";
import { inside } from "../../model/sides.js";
import { segment } from "../../ui/controls.js";
import { h, perRoot, replace, setText, update } from "../../ui/dom.js";
import { integer, number, significant } from "../../ui/format.js";
import { ffnTitle, layerTitle } from "../../ui/heads.js";
import { phrase, t } from "../../ui/i18n.js";
import { math, mi, mn, mo, mover, mtext, row, sub } from "../../ui/mathml.js";
import { tokenText } from "../../ui/token_text.js";
import { activationFormula } from "../formulas.js";
import { buildSwitch, saySwitch } from "../heads/eyes.js";
import { tokenInRole } from "../inspector/parts.js";
import { drawBarList, drawStationStrip, foldedPart, nameOfPart, part } from "../parts.js";
import { ffnState } from "../view_states.js";
import { drawUnitCounts } from "./counts.js";
import { corpusOf, openFfn, openFfnStep, orderOf, stepsOf, strongest } from "./data.js";
import { drawMap, drawPage, unitsPerPage } from "./map.js";

/**
 * @import { Scale } from "../../chart/matrix/scale.js"
 * @import { FetchedTrace, Floats, ModelTrace } from "../../data/model_trace.js"
 * @import { Model } from "../../model/description.js"
 * @import { Patch, State } from "../../state/store.js"
 * @import { Part } from "../parts.js"
 * @import { Actions, FetchedDraw } from "../view.js"
 * @import { StepName } from "./data.js"
 */

/** @typedef {ReturnType<typeof shownOf>} Shown */

/** The strongest units of a token, and the strongest tokens of a unit. */
const MANY = 8;

/** A unit fires where the activation sets the others to 0; otherwise its value is above 0. @param {"units"|"tokens"} what @param {{activation: string}} ffn */
const wordsOf = (what, { activation }) => `ffn.${what}_${activationOf(activation).silences ? "about" : "above"}`;

/** @param {Part} place @param {ModelTrace} trace @param {Shown} shown @param {(patch: Patch) => void} choose */
function drawUnitsOf(place, trace, { post, query, unit, n, ffn }, choose) {
  /** @type {Float32Array} */
  const row = rowIn(post, query);
  const found = strongest(row, MANY);
  const firing = row.reduce((count, value) => count + (value > 0 ? 1 : 0), 0);
  const token = tokenInRole(trace.queries.tokens, query, "q");
  nameOfPart(place, phrase("ffn.units_title", { token }), t(wordsOf("units", ffn), { n: firing, of: integer(n) }));
  const bars = found.map(({ index, value }) => ({
    id: String(index),
    name: t("ffn.unit", { unit: index }),
    share: value / found[0].value,
    value: significant(value, 3),
    words: t("ffn.unit_bar", { unit: index, value: significant(value, 5) }),
    chosen: index === unit,
    onChoose: () => choose({ ffnUnit: index }),
  }));
  drawBarList(place.place, { label: t("ffn.units_label", { n: bars.length }), bars });
}

/** @param {Part} place @param {ModelTrace} trace @param {Shown} shown @param {(patch: Patch) => void} choose */
function drawTokensOf(place, trace, { post, query, unit, n, ffn }, choose) {
  const { tokens, real } = trace.queries;
  const column = tokens.map((_, row) => (inside(real, row) ? post.data[row * n + unit] : 0));
  const found = strongest(column, MANY);
  const count = column.filter((value) => value > 0).length;
  nameOfPart(
    place,
    phrase("ffn.tokens_title", { unit: h("b", { class: "mono" }, unit) }),
    t(wordsOf("tokens", ffn), { count, n: real.end - real.start }),
  );
  const bars = found.map(({ index, value }) => ({
    id: String(index),
    name: [tokenText(tokens[index]), h("small", { class: "dim" }, ` ${index}`)],
    share: value / found[0].value,
    value: significant(value, 3),
    words: t("ffn.token_bar", { token: tokenName(tokens[index]), row: index, value: significant(value, 5) }),
    chosen: index === query,
    onChoose: () => choose({ query: index }),
  }));
  drawBarList(place.place, { label: t("ffn.tokens_label", { n: bars.length, unit }), bars });
  replace(place.said, inCorpus(corpusOf(trace.model, ffn), unit));
}

/**
 * The stored sample's statement about the unit.
 * @param {{dead: number[], always_on: number[]}|null} corpus @param {number} unit
 */
function inCorpus(corpus, unit) {
  if (!corpus) return "";
  const kind = corpus.dead.includes(unit) ? "dead" : corpus.always_on.includes(unit) ? "always" : "some";
  return t(`ffn.in_corpus_${kind}`);
}

/** The order in which they are made; drawn in that of the model. */
const STEPS = /** @type {const} */ (["x", "normed", "pre", "post", "out", "sum"]);

const elementsOf = perRoot((root) => {
  const title = h("h1", { class: "sr-only", dataset: { testid: "opened-title" } });
  const shown = segment(t("ffn.shown.choose"), STEPS, "ffn-shown", () => "");
  const sort = segment(t("ffn.sort.choose"), /** @type {const} */ (["id", "activation"]), "ffn-sort", (name) =>
    t(`ffn.sort.${name}`),
  );
  shown.box.classList.add("ffn-steps");
  const eye = buildSwitch("ffn-eye");
  root.addEventListener("keydown", (event) => {
    const { code, ctrlKey, metaKey, altKey, repeat, target } = event;
    if (code !== "KeyO" || ctrlKey || metaKey || altKey || repeat || !eye.checkVisibility()) return;
    if (/** @type {Element} */ (target).closest("textarea, input:not([type=range])")) return;
    event.preventDefault();
    eye.click();
  });
  const bar = h("div", { class: "bar" }, title, shown.box, h("span", { class: "grow" }), eye);
  const legend = h("p", { class: "map-legend" });
  const stage = h("div", { class: "ffn-stage" }, sort.box, legend);
  const formula = h("div", { class: "formula" });
  const reading = h("div", { dataset: { place: "reading" } });
  const page = foldedPart("page");
  const [units, tokens, counts] = ["units", "tokens", "counts"].map(part);
  const pair = h("div", { class: "act-halves" }, units.element, tokens.element);
  const more = h("details", { class: "fold", dataset: { part: "more" } }, h("summary", null, t("ffn.more")));
  more.append(page.element, pair, counts.element, formula);
  root.append(bar, h("div", { class: "station-body" }, stage, more), reading);
  return { title, formula, shown, sort, stage, legend, more, page, units, tokens, counts, eye, picked: false };
});

/** @type {FetchedDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const shown = shownOf(parts, trace, state);
  if (shown.picked && !parts.picked) parts.more.open = true; // the rest is about that unit
  parts.picked = shown.picked;
  drawSteps(parts.shown, trace.model, state, shown, (name) => actions.set(ffnState.patch({ shown: name })));
  drawEye(parts.eye, trace, state, actions);
  parts.sort.box.hidden = !isOfUnits(shown.step.name);
  parts.sort.show(shown.sort, (name) => actions.set(ffnState.patch({ sort: name })));
  const stage = stageOf(shown, trace);
  drawStationStrip(parts, ffnTitle(trace.model, shown.ffn.stack, state.layer), stripOf(shown));
  const unchanged = shown.before && isUnchanged(stage.matrix.data) && t("compare.unchanged");
  replace(parts.legend, unchanged || scaleLegend(stage.scale, { number: (value) => number(value, 2) }));
  const choose = (/** @type {Patch} */ patch) => actions.set({ query: shown.query, ffnUnit: shown.unit, ...patch });
  const chooseRow = (/** @type {number} */ query) => actions.set({ query });
  drawMap(parts.stage, { ...shown, ...stage }, trace.queries.tokens, { choose, chooseRow });
  drawPage(parts.page, trace, shown, choose);
  drawUnitsOf(parts.units, trace, shown, choose);
  drawTokensOf(parts.tokens, trace, shown, choose);
  parts.counts.element.hidden = !trace.explained.units; // counted by the server, for models made of our modules
  if (trace.explained.units) drawUnitCounts(parts.counts, trace, shown, choose);
}

/** It switches the FFN off: what it writes is 0. @param {HTMLButtonElement} eye @param {ModelTrace} trace @param {State} state @param {Actions} actions */
function drawEye(eye, trace, state, actions) {
  const { model } = trace;
  const part = partAt(state, model, "ffn");
  const [off, { layer }] = [isPartOff(state, part, attentionsOf(model)), part];
  const about = attentionOf(model, state.attention);
  const { stack } = about;
  const title = t(`eye.ffn_${off ? "on" : "off"}`, { title: layerTitle(about, layer) });
  eye.hidden = state.file !== null || state.lesson !== null;
  update(eye, { "aria-keyshortcuts": "O", title });
  saySwitch(eye, off, trace, (found) => found.kind === "ffn" && found.stack === stack && found.layer === layer);
  eye.onclick = () => actions.set(editing(actions.get(), model, (now) => partToggled(now, part, attentionsOf(model))));
}

/** @param {StepName} name */
const isOfUnits = (name) => name === "pre" || name === "post";

/**
 * The FFN as a line of steps, in the order of the model.
 * @param {ReturnType<typeof elementsOf>["shown"]} line @param {Model} model @param {State} state @param {Shown} shown
 * @param {(name: StepName) => void} pick
 */
function drawSteps({ box, buttons, show }, model, state, { ffn, step, n, d }, pick) {
  const steps = stepsOf(state, model).map(({ name }) => name);
  const norm = ffn.letters === "RMS" ? "RMSNorm" : "LayerNorm";
  const activation = activationOf(ffn.activation).name;
  const vars = {
    norm,
    activation: ffn.gate === null ? activation : `${activation} ⊙`,
    d: integer(d),
    d_ff: integer(n),
  };
  for (const name of steps) setText(buttons[name], t(`ffn.step.${name}`, vars));
  const ordered = [...steps, ...STEPS.filter((name) => !steps.includes(name))].map((name) => buttons[name]);
  if (ordered.some((button, i) => box.children[i] !== button)) box.append(...ordered);
  const open = state.file === null ? steps : steps.filter(isOfUnits);
  show(step.name, pick, (name) => open.includes(name));
}

/**
 * The data to draw, and the selection in it.
 * @param {ReturnType<typeof elementsOf>} parts @param {FetchedTrace} trace @param {State} state
 */
function shownOf({ stage }, trace, state) {
  const wish = ffnState.of(state);
  const ffn = openFfn(state, trace.model);
  const step = openFfnStep(wish.shown, state, trace.model);
  const paged = step.name === "pre" ? /** @type {const} */ ("pre") : /** @type {const} */ ("post");
  const [pre, post] = [trace.tensor(ffn.pre), trace.tensor(ffn.post)];
  const { query } = position(state, trace);
  const n = post.shape[1];
  const unit = chosenUnit(state, rowIn(post, query));
  const order = orderOf(wish.sort, rowIn(pre, query));
  const size = unitsPerPage(stage.clientWidth);
  const at = order.indexOf(unit);
  const first = Math.floor(at / size) * size;
  const before = isDifference(state) ? (trace.tensorBefore(ffn[paged]) ?? null) : null;
  const matrix = changeOf(paged === "pre" ? pre : post, before);
  return {
    before,
    sort: wish.sort,
    step,
    shown: paged,
    ffn,
    layer: state.layer,
    pre,
    post,
    matrix,
    scale: before ? signedScale(matrix.data) : scaleOf(matrix, paged, ffn.activation),
    query,
    unit,
    picked: state.ffnUnit !== null,
    n,
    d: trace.model.description.d_model,
    order,
    at,
    first,
    size,
  };
}

/** What the large picture shows: the units, or the stream before or after them. @param {Shown} shown @param {FetchedTrace} trace */
function stageOf({ step, matrix, scale, order, n, d, before }, trace) {
  if (isOfUnits(step.name)) return { matrix, scale, order, n, ofUnits: true };
  const stream = changeOf(trace.tensor(step.tap), before && (trace.tensorBefore(step.tap) ?? null));
  return { matrix: stream, scale: signedScale(stream.data), order: counting(d), n: d, ofUnits: false };
}

/** After − before; without a run before, as it is. @template {Floats} T @param {T} after @param {{data: ArrayLike<number>}|null} before @returns {T} */
const changeOf = (after, before) =>
  before ? { ...after, data: after.data.map((value, i) => value - before.data[i]) } : after;

const counting = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => i);

/**
 * ReLU keeps positive values and sets the rest to 0: a unit fires or stays silent. Others leave both signs.
 * @param {Floats} matrix @param {"pre"|"post"} shown @param {string} activation @returns {Scale}
 */
function scaleOf({ data }, shown, activation) {
  const signed = signedScale(data);
  const most = Math.max(signed.seen[1], 0);
  return shown === "pre" || !activationOf(activation).silences
    ? signed
    : { stops: rampStops("weights"), min: 0, max: most || 1, seen: [0, most] };
}

/** @param {Shown} shown */
function stripOf({ ffn, shown, post: { shape }, before }) {
  const normFirst = ffn.place === "pre";
  const plain = normFirst ? row(mi(ffn.letters), mtext("("), mi("x"), mtext(")")) : mi("x");
  const x = ffn.mixes ? sub(mover(mi("x"), mo("˜")), mi("k")) : plain;
  const plus = (/** @type {string} */ role, /** @type {number} */ index) =>
    ffn.parameters[role] ? [mo("+"), sub(mi("b"), mn(index))] : [];
  const inner = row(x, sub(mi("W"), mn(1)), ...plus("b_1", 1));
  const times = ffn.mixes ? [mi("σ"), row(mtext("("), mi("R"), mtext(")")), mo("⊙")] : [];
  const out = math(mi("FFN"), mo("="), ...times, mi("post"), mtext("\u2009"), sub(mi("W"), mn(2)), ...plus("b_2", 2));
  const formula = [math(mi("pre"), mo("="), inner), activationFormula(ffn), out];
  const { name: activation, silences } = activationOf(ffn.activation);
  const key = shown === "post" && !silences ? "ffn.note_post_signed" : `ffn.note_${shown}`;
  const note = t(before ? "ffn.note_difference" : key, { n: shape[0], d_ff: integer(shape[1]), activation });
  return { formula, note: ffn.mixes ? `${note}. ${t("ffn.note_mixes")}` : note };
}
