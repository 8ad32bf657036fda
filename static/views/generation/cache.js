/**
 * The KV cache of the newest step: keys and values of every layer as pictures, the switch that turns it off, what the step kept
 * and multiplied with it and without, and what the server had read before.
 */

import { isRecurrent } from "../../model/description.js";
import {
  cachedAttention,
  costOfSteps,
  crossAttention,
  keyBytes,
  recurrentAttention,
  stateBytes,
  stepCost,
  sumOfSteps,
  tokensOf,
} from "../../model/kv_cache.js";
import { tokenName } from "../../model/labels.js";
import { rowOf } from "../../model/selection.js";
import { segment, switchRow } from "../../ui/controls.js";
import { h, perRoot, replace, setText } from "../../ui/dom.js";
import { byteSize, millions, number, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { nameNodes } from "../../ui/token_text.js";
import { CACHE_OF, cacheState } from "../view_states.js";
import { createSheetTabs } from "./buttons.js";
import { createCosts } from "./cache_costs.js";
import { columnNames, drawLayers, kvHeadOf } from "./cache_picture.js";
import { writerOf } from "./player.js";
import { drawState } from "./state_picture.js";

/**
 * @import { FetchedTrace } from "../../data/model_trace.js"
 * @import { Attention, Model } from "../../model/description.js"
 * @import { Lengths } from "../../model/kv_cache.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions, View } from "../view.js"
 * @import { Cache } from "./cache_costs.js"
 * @import { Path, Session } from "./session.js"
 */

const made = perRoot(() => ({ panel: /** @type {ReturnType<typeof createPanel>|null} */ (null) }));

/** @type {View["draw"]} */
export function draw(root, trace, state, actions) {
  const slot = made(root);
  slot.panel ??= createPanel(root, actions);
  slot.panel.draw(/** @type {FetchedTrace} */ (trace), state);
}

/** @param {HTMLElement} root @param {Actions} actions */
function createPanel(root, actions) {
  const { session, onChange } = writerOf(actions);
  const parts = elementsOf(root, actions, show);
  /** @type {{trace: FetchedTrace, state: State}|null} */
  let now = null;
  onChange(show);
  return {
    /** @param {FetchedTrace} trace @param {State} state */
    draw(trace, state) {
      now = { trace, state };
      session.follow(trace);
      show();
    },
  };

  function show() {
    const path = session.path();
    if (!now || !path) return; // while a new sentence is read, the old one stays
    const { trace, state } = now;
    const { model } = trace;
    const { on, of } = cacheState.of(state);
    const step = session.drawn(path.ids.length - 1);
    const cache = shownOf(trace, path, step?.cache, on);
    const lengths = lengthsOf(trace, path, cache);
    drawPictures(parts, trace, state, cache);
    const inAll = of === "steps";
    parts.pictures.hidden ||= inAll; // the lines over the steps take their place
    parts.toggle.set(on, t("cache.switch_about"), "");
    parts.of.show(of, (chosen) => actions.set(cacheState.patch({ of: chosen })));
    for (const node of [parts.costs.node, parts.costs.choice]) node.hidden = !inAll;
    if (inAll) parts.costs.draw({ model, source: lengths.source, ids: path.ids, steps: stepsOf(session, path) }, state);
    parts.bars.hidden = !cache || inAll;
    const measured = cache !== undefined && cache === step?.cache && !inAll;
    parts.server.hidden = !measured;
    const isNext = path.ids.length === path.nPrompt;
    if (!cache || (inAll && isNext)) return setText(parts.said, t("cache.nothing"));
    if (inAll) return replace(parts.said, allSaid(trace, path, lengths, on, stepsOf(session, path)));
    const at = path.ids.length - 1;
    const own = cachedAttention(model);
    const last = (own && columnNames(trace, own)[at]) || tokenName(session.word(path.ids[at]));
    const cost = costOfSteps(model, { ...lengths, first: lengths.tokens, last: lengths.tokens });
    const isPast = trace.written && rowOf(state, trace) < trace.written.real.end - 1; // another token is chosen
    replace(parts.said, saidOf(cache, isNext ? null : last, on, cost?.times ?? null, Boolean(isPast)));
    if (measured) setText(parts.server, serverOf(/** @type {any} */ (step)));
    replace(parts.bars, groupsOf(model, lengths, cache));
  }
}

/** @param {HTMLElement} root @param {Actions} actions @param {() => void} onChange */
function elementsOf(root, actions, onChange) {
  const said = h("p", { class: "cache-said", role: "status", dataset: { testid: "gen-cache" } });
  const toggle = switchRow("cache", t("cache.switch"), (on) => actions.set(cacheState.patch({ on })));
  const server = h("p", { class: "dim", dataset: { testid: "cache-server" } });
  const bars = h("dl", { class: "cache-bars" });
  const layers = h("div", { class: "cache-layers", dataset: { testid: "cache-layers" } });
  const states = h("div", { hidden: true });
  const about = h("p", { class: "dim cache-about" });
  const costs = createCosts(actions, onChange);
  const pictures = h("div", { class: "cache-pictures" }, layers, states, about);
  const of = segment(t("cache.of"), CACHE_OF, "cache-of", (name) => t(`cache.of.${name}`));
  toggle.row.title = t("cache.switch_about");
  const choice = h("div", { class: "cache-choice" }, of.box, toggle.row);
  const side = h("div", { class: "cache-side" }, said, choice, costs.choice, bars, server);
  const tabs = createSheetTabs("cache", actions);
  const kept = h("span", { class: "dim kept" });
  const title = h("div", { class: "written-head" }, tabs, h("h2", null, t("cache.title")), kept);
  replace(root, title, h("div", { class: "cache-parts" }, pictures, costs.node, side));
  return { said, kept, toggle, of, server, bars, layers, states, about, pictures, costs };
}

/** @param {ReturnType<typeof elementsOf>} parts @param {FetchedTrace} trace @param {State} state @param {Cache|undefined} cache */
function drawPictures({ pictures, kept, layers, states, about }, trace, state, cache) {
  const [own, cross] = [cachedAttention(trace.model), crossAttention(trace.model)];
  const carries = recurrentAttention(trace.model);
  pictures.hidden = !own && !carries;
  setText(kept, carries ? t("cache.about_carried") : "");
  layers.hidden = Boolean(carries);
  states.hidden = !carries;
  if (carries) return drawStates(states, about, trace, state, carries);
  if (!own) return;
  const fresh = { from: cache ? cache.positions - cache.computed : 0, to: cache?.positions ?? 0 };
  const window = drawLayers(layers, trace, state, { own, cross, fresh, first: cache?.computed === cache?.positions });
  const { n_head: heads, n_kv_head: shared, d_head: each } = own;
  const notes = [
    t("cache.picture", { head: kvHeadOf(own, state), d: each, all: shared * each }),
    shared < heads && t("cache.shared", { n: heads / shared }),
    window && t("cache.window"),
    cross && t("cache.cross"),
  ];
  setText(about, notes.filter(Boolean).join(" "));
}

/** @param {HTMLElement} place @param {HTMLElement} about @param {FetchedTrace} trace @param {State} state @param {Attention} attention */
function drawStates(place, about, trace, state, attention) {
  const needsCausal = !isRecurrent(attention) && !trace.causal;
  place.hidden = needsCausal;
  if (needsCausal) return setText(about, t("cache.no_state"));
  drawState(place, trace, state, attention);
  const isEdited = state.interventions.some(({ kind }) => kind === "mask");
  setText(about, [t("cache.state_about"), isEdited && t("cache.state_edited")].filter(Boolean).join(" "));
}

/**
 * The newest step as the switch stands: as it was taken, or counted from shapes; of a text without one, the step to come.
 * @param {FetchedTrace} trace @param {Path} path @param {Cache|undefined} taken @param {boolean} on @returns {Cache|undefined}
 */
function shownOf(trace, path, taken, on) {
  if (taken && (!trace.causal || isAnew(taken) !== on)) return taken;
  return countedOf(trace, path, on) ?? taken;
}

/** The lengths of what the newest step read. @param {FetchedTrace} trace @param {Path} path @param {Cache|undefined} cache @returns {Lengths} */
function lengthsOf(trace, { ids }, cache) {
  return { tokens: cache?.positions ?? ids.length, source: sourceOf(trace) };
}

/** How many tokens an encoder has read. @param {FetchedTrace} trace */
function sourceOf({ model, sides }) {
  const cross = crossAttention(model);
  return cross ? tokensOf(cross, sides).length : 0;
}

/** What each step of the path cost that was taken here. @param {Session} session @param {Path} path @returns {Cache[]} */
const stepsOf = (session, { ids }) => ids.map((_, index) => session.drawn(index)?.cache).filter(Boolean);

/** Whether everything was read again. @param {Cache} cache */
const isAnew = ({ computed, positions }) => computed === positions;

/**
 * What a step keeps and computes, from shapes: the newest one of a text, or the one that comes after a prompt.
 * @param {FetchedTrace} trace @param {Path} path @param {boolean} on @returns {Cache|undefined}
 */
function countedOf(trace, { ids, nPrompt }, on) {
  if (!trace.causal || !cachedAttention(trace.model)) return undefined;
  const positions = Math.max(ids.length, nPrompt + 1);
  const bytes = on ? keyBytes(trace.model, { tokens: positions, source: sourceOf(trace) }) : 0;
  return { positions, computed: on ? 1 : positions, bytes, milliseconds: 0, together: 1 };
}

/**
 * What all steps that wrote the text multiplied, each as it was taken, beside what they would have without a cache, or with it; or why
 * nothing is said of it.
 * @param {FetchedTrace} trace @param {Path} path @param {Lengths} lengths @param {boolean} on  for steps that were not taken here @param {Cache[]} steps
 */
function allSaid({ model, causal }, { ids, nPrompt }, { source }, on, steps) {
  if (!causal) return t("cache.all_recomputed");
  const all = { first: nPrompt + 1, last: ids.length, source };
  const cost = costOfSteps(model, all);
  if (!cost) return t("cache.not_counted");
  const anew = new Map(steps.map((step) => [step.positions, isAnew(step)]));
  const multiplied = sumOfSteps(model, all, (tokens) => !(anew.get(tokens) ?? !on)) ?? 0;
  const saves = multiplied < cost.more;
  const other = saves ? cost.more : cost.less;
  const [here, there] = [multiplied, other].map(multiplyAdds);
  const times = Math.max(multiplied, other) / Math.min(multiplied, other);
  return costLines(saves, times, t("cache.sums", { n: ids.length - nPrompt, here, there }));
}

/** @param {number} value */
const multiplyAdds = (value) => (value >= 1e9 ? `${number(value / 1e9, 1)}\u202fG` : millions(value));

/** @param {number} times */
const timesText = (times) => number(times, times < 10 ? 1 : 0);

/** How much less is multiplied, or more, in large; below it, what that counts. @param {boolean} saves @param {number} times @param {any} counted */
const costLines = (saves, times, counted) => [
  h("b", null, t(saves ? "cache.saved" : "cache.not_saved", { times: timesText(times) })),
  " ",
  h("span", { class: "dim" }, counted),
];

/** What the cache saves, in large, and which columns it holds. @param {Cache} cache @param {string|null} token  the newest; null: it is still to come @param {boolean} on @param {number|null} ratio @param {boolean} isPast  an earlier token is chosen */
function saidOf(cache, token, on, ratio, isPast) {
  const { positions: n, computed, bytes } = cache;
  const size = byteSize(bytes);
  if (isAnew(cache) && on && bytes === 0) return t("cache.recomputed", { n });
  const saves = !isAnew(cache);
  const when = token === null ? "_next" : isPast ? "_last" : "";
  const vars = { n: saves ? n - computed : n, token: h("span", null, nameNodes(token ?? "")) };
  const counted = phrase(`cache.${saves ? "cached" : "off_said"}${when}`, vars);
  if (ratio === null || ratio < 1.05) return saves ? t("generation.cache", { n, computed, size }) : counted;
  return costLines(saves, ratio, counted);
}

/** What was read before this step, what it computed, and how long that took. @param {{cache: Cache, begun?: {reused: number, computed: number}|null}} step */
function serverOf({ cache, begun }) {
  const ms = significant(cache.milliseconds, 2);
  if (!begun) return t("cache.same_request", { n: cache.positions - cache.computed, computed: cache.computed, ms });
  return t("cache.server", { n: begun.reused, computed: begun.computed + cache.computed, ms });
}

/**
 * Bars of the newest step with the cache and without it: what is kept, and what is multiplied; the one that was taken in bold.
 * @param {Model} model @param {Lengths} lengths @param {Cache} cache
 */
function groupsOf(model, lengths, cache) {
  const taken = isAnew(cache) ? 1 : 0;
  const carries = recurrentAttention(model);
  if (carries) return stateGroup(model, carries, lengths, cache);
  const own = cachedAttention(model);
  const keys = own ? keyBytes(model, lengths) : cache.bytes;
  const size = (/** @type {number} */ value) => (value ? byteSize(value) : "0");
  const known = own || taken === 0; // of other mechanisms, what a cache would hold is not counted
  const kept = known && groupOf(t("cache.kept"), [taken === 0 ? cache.bytes : keys, 0], taken, size);
  const [less, more] = [true, false].map((cached) => stepCost(model, { ...lengths, cached }));
  if (!less || !more) return [kept];
  const all = [less, more].map(({ weights, attention }) => weights + attention);
  return [
    kept,
    groupOf(t("cache.multiply_adds"), all, taken, millions),
    groupOf(t("cache.attention"), [less.attention, more.attention], taken, millions, { part: true }),
  ];
}

/** A state beside the keys and values of the same text. @param {Model} model @param {Attention} attention @param {Lengths} lengths @param {Cache} cache */
function stateGroup(model, attention, lengths, { bytes }) {
  const values = [stateBytes(attention), keyBytes(model, lengths)];
  const names = [t("cache.state_bar"), t("cache.keys_bar")];
  const more = bytes > values[0] && h("p", { class: "dim" }, t("cache.state", { size: byteSize(bytes) }));
  return [groupOf(t("cache.kept"), values, 0, byteSize, { names }), more];
}

/**
 * @param {string} title @param {number[]} values  with the cache, and without @param {number} taken @param {(value: number) => string} word
 * @param {{names?: string[], part?: boolean}} [more]  `part`: it is left out where there is little room
 */
function groupOf(title, values, taken, word, { names, part } = {}) {
  const [first, second] = names ?? [t("cache.short_with"), t("cache.short_without")];
  const most = Math.max(...values, 1e-9);
  const bar = (/** @type {number} */ i) =>
    h(
      "dd",
      { class: `${i === 0 ? "with" : "without"}${i === taken ? " taken" : ""}` },
      h("span", null, i === 0 ? first : second),
      h("u", { "aria-hidden": true }, h("s", { style: { width: `${(100 * values[i]) / most}%` } })),
      h("output", null, word(values[i])),
    );
  return h("div", { class: part ? "part" : null }, h("dt", null, title), bar(0), bar(1));
}
