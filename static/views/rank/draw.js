/**
 * Which heads the answer needs: each head and each FFN is switched off once, as a map of layers × heads and in words; and which
 * keys of the open row it needs (keys.js).
 */

import { scaleLegend, signedScale, sizeScale } from "../../chart/matrix/scale.js";
import {
  answerRequest,
  measuredRequest,
  RANK_MEASURES,
  RANK_SHOWN,
  rankState,
  ranksLow,
  showsEffects,
} from "../../data/explain.js";
import { measureAblations, measurePatches } from "../../data/streams.js";
import { effectMaps, keepingRows, mostNeeded, ranked } from "../../model/ablations.js";
import { withChanges } from "../../model/compare/runs.js";
import { can, hasVocabulary, splitsLogits } from "../../model/description.js";
import { headKey } from "../../model/edits.js";
import { segment } from "../../ui/controls.js";
import { h, inOneColumn, keepingFocus, painted, perRoot, replace, setText, update } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { buildDirect, drawDirect } from "./direct.js";
import {
  createRanking,
  drawEdited,
  effectFigures,
  effectPhrase,
  headName,
  isOff,
  measuredAnswer,
  measureUnit,
  rankedRow,
  strongestFfn,
} from "./effects.js";
import { buildKeys, drawKeys, keysRequest } from "./keys.js";
import { blocksOf, buildEffectMap, drawEffectMap } from "./map.js";
import { buildPatch, drawPatch, patchRequest } from "./patch.js";
import { pathsOf } from "./paths.js";
import { buildVocabulary, drawVocabulary } from "./vocabulary.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Ablation, AblationStart } from "../../data/streams.js"
 * @import { Measure } from "../../model/ablations.js"
 * @import { Model } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions, Draw } from "../view.js"
 * @import { Measured } from "./effects.js"
 */

const RANK_TITLES = {
  heads: "rank.title",
  keys: "rank.title_keys",
  direct: "direct.title",
  vocabulary: "vocabulary.title",
};

/** @typedef {Ablation & {kind: "head"}} HeadPart */

/** How many heads are listed. */
const MANY = 5;

/** Smaller changes than this stay pale, in nats. */
const PALE = 0.02;

const elementsOf = perRoot((root) => {
  const shows = segment(t("rank.shows"), RANK_SHOWN, "rank-shows", (name) => t(`rank.shows_${name}`));
  const by = segment(t("rank.by"), RANK_MEASURES, "rank", (name) => t(`rank.by_${name}`));
  const progress = h("span", { class: "dim", dataset: { testid: "rank-progress" } });
  const attrs = {
    class: "btn rank-bars",
    type: "button",
    title: t("rank.bars_about"),
    dataset: { testid: "rank-bars" },
  };
  const bars = h("button", attrs, t("rank.bars"));
  const title = h("h1", null);
  const about = h("span", { class: "rank-intro dim", title: t("rank.about_long") }, t("rank.about"));
  const edited = h("p", { class: "rank-edited", dataset: { testid: "rank-edited" } });
  const higher = h("button", { class: "btn icon rank-higher", type: "button", dataset: { testid: "rank-higher" } });
  const bar = h("div", { class: "bar" }, title, shows.box, about, edited, progress, higher);
  const [legend, more] = [h("p", { class: "rank-legend dim" }), h("p", { class: "dim" })];
  const [said, list] = [h("h2", null), h("ol", { class: "rank-rows" })];
  const maps = h("div", { class: "rank-maps" });
  const choice = h("p", { class: "rank-choice" }, by.box, bars);
  const needs = h("section", { class: "rank-needs" }, said, list, more, choice);
  const blocks = /** @type {Map<string, ReturnType<typeof buildEffectMap>>} */ (new Map());
  const heads = {
    ...{ element: h("div", { class: "rank-columns" }, needs, h("div", null, legend, maps)) },
    ...{ edited, more, legend, said, list, maps, blocks, opened: "", subject: "", whole: false, model: "" },
    order: /** @type {string[]} */ ([]), // of the rows
    numbers: /** @type {{start: AblationStart|null, found: HeadPart[]}} */ ({ start: null, found: [] }), // the last that are whole
  };
  const pages = {
    heads,
    keys: buildKeys(),
    direct: buildDirect(),
    patch: buildPatch(),
    vocabulary: buildVocabulary(),
  };
  root.append(bar, ...Object.values(pages).map(({ element }) => element));
  const again = { draw: () => {}, isOpen: () => false };
  let waits = false;
  const soon = () => {
    if (waits) return; // many events arrive at once
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      again.draw();
    });
  };
  const isOpen = () => again.isOpen();
  const measuring = {
    heads: createRanking(soon, isOpen, measureAblations),
    keys: createRanking(soon, isOpen, measureAblations),
    patch: createRanking(soon, isOpen, measurePatches),
  };
  return { title, about, shows, by, bars, progress, higher, pages, measuring, again };
});

/** @typedef {ReturnType<typeof elementsOf>} Parts */

/**
 * What can be shown: whether a model has it, and how it is drawn.
 * @typedef {{has: (model: Model) => boolean, draw: (parts: Parts, ...now: [ModelTrace, State, Actions]) => void}} Page
 * @type {Record<typeof RANK_SHOWN[number], Page>}
 */
const PAGES = {
  heads: { has: () => true, draw: drawAblations },
  keys: { has: (model) => can(model, "effects"), draw: drawKeysOf },
  direct: {
    has: splitsLogits,
    draw: ({ pages }, ...now) => drawDirect(pages.direct, ...now),
  },
  patch: { has: () => true, draw: drawPatches },
  vocabulary: { has: hasVocabulary, draw: ({ pages }, trace, state) => drawVocabulary(pages.vocabulary, trace, state) },
};

/** What keeps to the answer before the edits. */
const PINNED = ["heads", "direct", "patch"];

/** @type {Draw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const { by, shows: asked } = rankState.of(state);
  const bars = showsEffects(state, trace.model);
  const has = (/** @type {typeof RANK_SHOWN[number]} */ name) => PAGES[name].has(trace.model);
  const shows = has(asked) ? asked : "heads";
  setText(parts.title, titleOf(shows, trace, state));
  parts.by.show(by, (name) => actions.set(rankState.patch({ by: name })));
  update(parts.bars, { "aria-pressed": String(bars) });
  // The sheet lies over the heads: it closes for what is shown under them.
  parts.bars.onclick = () =>
    actions.set({ ...rankState.patch({ bars: bars ? "off" : "on" }), ...(bars ? {} : { drawer: null }) });
  const { edited } = parts.pages.heads;
  const measured = trace.ablations?.start ?? parts.measuring.heads.last().start;
  drawEdited(edited, trace, state, actions, measured?.tokens);
  if (!PINNED.includes(shows)) edited.hidden = true;
  parts.about.hidden = shows !== "heads" || !edited.hidden; // they share a line
  const height = /** @type {const} */ (["low", "tall"]).map((name) => ({ height: name }))[Number(!ranksLow(state))];
  parts.shows.show(shows, (name) => actions.set(rankState.patch({ shows: name, ...height })), has); // its tabs stay where they are
  drawHigher(parts.higher, ranksLow(state), actions);
  inSight(parts.shows.box, parts.shows.buttons[shows]);
  for (const name of RANK_SHOWN) parts.pages[name].element.hidden = name !== shows;
  for (const [name, one] of Object.entries(parts.measuring)) if (name !== shows) one.stop();
  parts.again.isOpen = () => actions.get().drawer === "rank" && root.isConnected;
  parts.again.draw = () => {};
  drawProgress(parts, null);
  PAGES[shows].draw(parts, trace, state, actions);
}

/** The sheet over the model, in as much height as leaves the model whole, or higher. @param {HTMLElement} button @param {boolean} low @param {Actions} actions */
function drawHigher(button, low, actions) {
  const words = t(low ? "rank.higher" : "rank.lower");
  update(button, { title: words, "aria-label": words });
  setText(button, low ? "▴" : "▾");
  button.onclick = () => actions.set(rankState.patch({ height: low ? "tall" : "low" }));
}

/** Scrolls a row of choices, which a phone cuts, to the one that is on. @param {HTMLElement} box @param {HTMLElement} on */
function inSight(box, on) {
  if (!inOneColumn() || box.dataset.on === on.textContent) return;
  box.dataset.on = on.textContent ?? "";
  painted(() => box.scrollTo({ left: on.offsetLeft - box.offsetLeft - (box.clientWidth - on.offsetWidth) / 2 }));
}

/** What is measured, by the field's name of it. @param {typeof RANK_SHOWN[number]} shows @param {ModelTrace} trace @param {State} state */
const titleOf = (shows, trace, state) =>
  shows === "patch" ? t(pathsOf(trace, state) ? "paths.patching" : "patch.title") : t(RANK_TITLES[shows]);

/** @param {Parts} parts @param {ModelTrace} trace @param {State} state @param {Actions} actions */
function drawAblations(parts, trace, state, actions) {
  const { again, measuring, pages } = parts;
  const bars = showsEffects(state, trace.model);
  const request = measuredRequest(state, trace);
  const opened = [state.view, state.attention, state.layer, state.head].join();
  if (opened !== pages.heads.opened) for (const block of pages.heads.blocks.values()) block.cursor = null;
  pages.heads.opened = opened;
  // With bars under the heads, the page has asked already.
  const here = {
    key: "",
    error: null,
    ...(trace.ablations ?? { start: null, found: [] }),
    done: trace.ablations !== null,
  };
  const measured = () => (bars ? here : measuring.heads.of(/** @type {object} */ (request)));
  again.draw = () => drawFound(parts, trace, state, actions, request && measured());
  if (!request || bars) measuring.heads.stop();
  again.draw();
}

/** @param {Parts} parts @param {ModelTrace} trace @param {State} state @param {Actions} actions */
function drawKeysOf(parts, trace, state, actions) {
  const { again, measuring, pages } = parts;
  const request = keysRequest(trace, state);
  again.draw = () => {
    const measured = request && measuring.keys.of(request);
    drawProgress(parts, measured, drawKeys(pages.keys, measured, trace, state, actions));
  };
  if (!request) measuring.keys.stop();
  again.draw();
}

/** @param {Parts} parts @param {ModelTrace} trace @param {State} state @param {Actions} actions */
function drawPatches(parts, trace, state, actions) {
  const { again, measuring, pages } = parts;
  const { patch } = pages;
  const request = patchRequest(trace, state);
  const asked = JSON.stringify(request);
  if (patch.stopped !== asked) patch.stopped = "";
  again.draw = () => {
    const measured = request && (patch.stopped ? measuring.patch.last() : measuring.patch.of(request));
    drawProgress(parts, measured);
    drawPatch(patch, measured, trace, state, actions);
  };
  patch.stop.onclick = () => {
    patch.stopped = patch.stopped ? "" : asked;
    if (patch.stopped) measuring.patch.stop();
    again.draw();
  };
  if (!request) measuring.patch.stop();
  again.draw();
}

/** @param {Parts} parts @param {Measured<unknown, {parts: number}>|null} measured @param {boolean} [waits]  the last ranking stands until then */
function drawProgress({ progress }, measured, waits = false) {
  const { start = null, found = [], done = true } = measured ?? {};
  update(progress, { hidden: done || !(start || waits) });
  setText(progress, start ? t("rank.progress", { n: found.length, of: start.parts }) : t("rank.begins"));
}

/** @param {Parts} parts @param {ModelTrace} trace @param {State} state @param {Actions} actions @param {Measured|null} measured */
function drawFound(parts, trace, state, actions, measured) {
  const { by } = rankState.of(state);
  const { heads } = parts.pages;
  const { start = null, found = [], done = true, error = null } = measured ?? {};
  const whole = done && !error && start !== null && found.length > 0;
  const waits = heads.whole && heads.model === trace.model.name && !whole && measured !== null && !error;
  drawProgress(parts, measured, waits);
  heads.element.classList.toggle("waits", waits);
  if (waits) return drawRows(heads, { by, start, found, done: false }, trace, actions); // only its switches are other ones
  Object.assign(heads, { whole, model: trace.model.name });
  const subject = JSON.stringify({ ...answerRequest(state, trace), interventions: undefined, by });
  if (subject !== heads.subject) heads.order = []; // of another answer the list begins anew
  heads.subject = subject;
  drawNeeds(heads, { by, start, found, done, error, pad: measured === null }, trace, actions);
  heads.legend.hidden = heads.maps.hidden = !found.length;
  if (!found.length || !start) return;
  const unit = measureUnit(by, start);
  // An FFN often does more than all heads together: the colours are for the heads.
  const values = Float32Array.from(
    found.filter(({ kind }) => kind === "head"),
    (one) => unit.of(one[by]),
  );
  const scale = by === "kl" ? sizeScale(values) : signedScale(values, "signed", unit.of(PALE));
  const ffn = strongestFfn(found, by);
  const own = ffn ? ` · ${t("rank.ffn_own")}` : "";
  const words = phrase(`rank.legend_${unit.name}`, { answer: h("b", null, measuredAnswer(start)) });
  replace(heads.legend, scaleLegend(scale, { number: unit.write }), h("span", null, words, own));
  const maps = effectMaps(trace.model, found);
  const names = maps.map(({ attention }) => attention);
  const blocks = blocksOf(heads.blocks, names, buildEffectMap, (all) => replace(heads.maps, ...all));
  const of = { by, scale, ffn: ffn ? unit.of(ffn[by]) : 0, start, found, again: parts.again.draw };
  maps.forEach((map, i) => drawEffectMap(blocks[i], map, of, trace, state, actions));
}

/**
 * The heads that the answer needs most, in words.
 * @param {Parts["pages"]["heads"]} parts @param {{by: Measure, start: AblationStart|null, found: Ablation[], done: boolean, error: unknown, pad: boolean}} of
 * @param {ModelTrace} trace @param {Actions} actions
 */
function drawNeeds(parts, { by, start, found, done, error, pad }, trace, actions) {
  const { said } = parts;
  const heads = start ? mostNeeded(found, by, MANY) : [];
  const answer = start && h("b", null, measuredAnswer(start));
  if (error) setText(said, errorText(/** @type {any} */ (error)));
  else if (pad) setText(said, t("rank.pad"));
  else if (!answer) setText(said, t("rank.begins"));
  else if (!heads.length) replace(said, h("span", null, done ? phrase("rank.none", { answer }) : t("rank.begins")));
  else if (!done) setText(said, t("rank.begins"));
  else if (by === "kl")
    replace(said, h("span", null, phrase("rank.most_kl", { head: headName(trace.model, heads[0]) })));
  else replace(said, h("span", null, effectPhrase(trace.model, heads[0], /** @type {AblationStart} */ (start))));
  drawRows(parts, { by, start, found, done }, trace, actions);
  const ffn = start && strongestFfn(found, by);
  const stronger = ffn && heads.length > 0 && Math.abs(ffn[by]) > Math.abs(heads[0][by]);
  replace(parts.more, ...(stronger ? [effectPhrase(trace.model, ffn, start), "."].flat() : []));
  update(parts.more, { title: ffn && effectFigures(ffn).join(" · ") });
}

/**
 * A head that is switched off keeps its row, under the pointer; the others are ranked anew once they are measured without it.
 * @param {Parts["pages"]["heads"]} parts @param {{by: Measure, start: AblationStart|null, found: Ablation[], done: boolean}} of
 * @param {ModelTrace} trace @param {Actions} actions
 */
function drawRows(parts, { by, start, found, done }, trace, actions) {
  const whole = done && start !== null;
  if (whole || !parts.order.length)
    parts.numbers = { start, found: found.flatMap((one) => (one.kind === "head" ? [one] : [])) };
  const { numbers, list } = parts;
  const { interventions } = withChanges(actions.get(), trace.model);
  const off = numbers.found.filter((one) => isOff(interventions, one, trace.model));
  const best = ranked(mostNeeded(numbers.found, by, Infinity), off, MANY).map(headKey);
  if (whole) parts.order = keepingRows(parts.order, best, new Set(off.map(headKey)));
  const order = parts.order.length ? parts.order : best;
  const known = new Map(numbers.found.map((one) => [headKey(one), one]));
  const heads = order.flatMap((key) => known.get(key) ?? []);
  const of = { by, values: heads.map((one) => one[by]), start: /** @type {AblationStart} */ (numbers.start) };
  keepingFocus(list, () => replace(list, ...heads.map((one) => rankedRow(one, of, trace, actions))));
}
