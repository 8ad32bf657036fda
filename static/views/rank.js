/** Which heads the answer needs: each head and each FFN is switched off once, as a map of layers × heads and in words. */

import { drawMatrix } from "../chart/matrix/matrix.js";
import { scaleLegend, signedScale, sizeScale } from "../chart/matrix/scale.js";
import { cssColour } from "../chart/theme.js";
import { retrying } from "../data/ask.js";
import { answerRequest } from "../data/explain.js";
import { measureAblations } from "../data/streams.js";
import { effectMaps, mostNeeded } from "../model/ablations.js";
import { attentionOf, attentionsOf, showsMeans } from "../model/description.js";
import { headKey, headsOff, headToggled } from "../model/edits.js";
import { labelName, tokenLabel } from "../model/labels.js";
import { segment } from "../ui/controls.js";
import { h, keepingFocus, perRoot, replace, setText, update } from "../ui/dom.js";
import { briefPercent, errorText, number, signed } from "../ui/format.js";
import { attentionName, attentionWords, headWords } from "../ui/heads.js";
import { phrase, t } from "../ui/i18n.js";
import { className } from "../ui/token_text.js";
import { placeOf } from "./places.js";
import { RANK_MEASURES, rankState } from "./view_states.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Ablation, AblationStart } from "../data/streams.js"
 * @import { EffectMap, Measure } from "../model/ablations.js"
 * @import { Model } from "../model/description.js"
 * @import { Head } from "../model/edits.js"
 * @import { State } from "../state/store.js"
 * @import { Actions, Draw } from "./view.js"
 */

/** How many heads are listed. */
const MANY = 5;

/** Smaller changes than this stay pale, in nats. */
const PALE = 0.02;

/** A cell narrower than this, in pixels, has no room for two decimals, or for one. */
const [TWO, ONE] = [42, 30];

// One measurement at a time: of the newest run, row and answer.

/** Between two keystrokes nothing is measured. Milliseconds. */
const PAUSE = 250;

/** @typedef {{key: string, start: AblationStart|null, found: Ablation[], done: boolean, error: unknown}} Measured */

/** @param {() => void} onChange  there is something new @param {() => boolean} isWanted  whether anyone still sees it */
export function createRanking(onChange, isWanted) {
  let control = new AbortController();
  let timer = 0;
  /** @type {Measured} */
  let measured = { key: "", start: null, found: [], done: true, error: null };

  /** @param {Measured} now @param {object} request @param {AbortSignal} signal */
  async function run(now, request, signal) {
    const changed = () => {
      if (isWanted()) onChange();
      else stop();
    };
    const onAblation = (/** @type {Ablation} */ one) => {
      now.found.push(one);
      changed();
    };
    const onStart = (/** @type {AblationStart} */ start) => Object.assign(now, { start, found: [] });
    try {
      await retrying(() => measureAblations(request, { signal, onStart, onAblation }), { signal });
    } catch (error) {
      if (signal.aborted) return;
      now.error = error;
    }
    now.done = true;
    changed();
  }

  function stop() {
    control.abort();
    clearTimeout(timer);
    if (!measured.done) measured = { ...measured, key: "", done: true };
  }

  return {
    /** What is known about a question; it is measured after a short pause. @param {object} request @returns {Measured} */
    of(request) {
      const key = JSON.stringify(request);
      if (key === measured.key) return measured;
      stop();
      measured = { key, start: null, found: [], done: false, error: null };
      control = new AbortController();
      const [now, { signal }] = [measured, control];
      timer = Number(setTimeout(() => (isWanted() ? run(now, request, signal) : stop()), PAUSE));
      return measured;
    },
    stop,
  };
}

// Words.

/** "head 5·5", "cross-attention head 3·2". @param {Model} model @param {Head} head */
export function headName(model, { attention, layer, head }) {
  if (showsMeans(attentionOf(model, attention))) return headWords(model, { attention, layer, head });
  const several = attentionsOf(model).length > 1;
  const vars = { layer, head, attention: attentionWords(model, attention) ?? "" };
  return t(several ? "rank.head_of" : "rank.head", vars);
}

/** "the FFN of layer 3", "the encoder’s FFN of layer 3". @param {Model} model @param {{stack: string, layer: number}} of */
const ffnName = (model, { stack, layer }) =>
  t(model.description.stacks.length > 1 ? `rank.ffn_${stack}` : "rank.ffn", { layer });

/** @param {Model} model @param {Ablation} one */
const nameOf = (model, one) => (one.kind === "ffn" ? ffnName(model, one) : headName(model, one));

/** The answer's name in a sentence. @param {AblationStart} start */
const answerOf = ({ answer, classes, tokens }) =>
  classes.length ? className(classes[answer]) : labelName(tokenLabel(tokens[answer]));

/** @param {Model} model @param {Ablation} one @param {AblationStart} start */
function effectOf(model, one, start) {
  const [before, after] = [briefPercent(start.p), briefPercent(one.p)];
  const key = before === after ? "stays" : one.delta < 0 ? "falls" : "rises";
  return { key: `rank.${key}`, vars: { part: nameOf(model, one), answer: answerOf(start), before, after } };
}

/** "Without head 5·5, car falls from 98 % to 31 %". @param {Model} model @param {Ablation} one @param {AblationStart} start */
export function effectWords(model, one, start) {
  const { key, vars } = effectOf(model, one, start);
  return t(key, vars);
}

/** The same, with the answer in bold. @param {Model} model @param {Ablation} one @param {AblationStart} start */
function effectPhrase(model, one, start) {
  const { key, vars } = effectOf(model, one, start);
  return phrase(key, { ...vars, answer: h("b", null, vars.answer) });
}

/** "ln p −1.152", "KL 0.918". @param {Ablation} one */
const figuresOf = (one) => [t("rank.delta", { delta: signed(one.delta, 3) }), t("rank.kl", { kl: number(one.kl, 3) })];

// The drawer.

const elementsOf = perRoot((root) => {
  const by = segment(t("rank.by"), RANK_MEASURES, "rank", (name) => t(`rank.by_${name}`));
  const progress = h("span", { class: "dim", dataset: { testid: "rank-progress" } });
  const bar = h(
    "div",
    { class: "bar" },
    h("h1", null, t("rank.title")),
    progress,
    h("span", { class: "grow" }),
    by.box,
  );
  const [about, legend] = [h("p", { class: "rank-about dim" }), h("p", { class: "rank-legend dim" })];
  const [said, list] = [h("h2", null), h("ol", { class: "rank-rows" })];
  const maps = h("div", { class: "rank-maps" });
  const needs = h("section", { class: "rank-needs" }, said, list);
  root.append(bar, about, h("div", { class: "rank-columns" }, needs, h("div", null, legend, maps)));
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
  const ranking = createRanking(soon, () => again.isOpen());
  /** @type {Map<string, ReturnType<typeof buildMap>>} */
  const blocks = new Map();
  return { by, progress, about, legend, said, list, maps, again, ranking, blocks, built: "", opened: "" };
});

/** @typedef {ReturnType<typeof elementsOf>} Parts */

/** The place of one map, and what can be done with its chosen cell. */
function buildMap() {
  const title = h("h3", null);
  const place = h("div", { class: "place" });
  const open = h("button", { class: "btn", type: "button", dataset: { testid: "rank-open" } });
  const off = h("button", { class: "btn", type: "button", dataset: { testid: "rank-off" } });
  const element = h("section", { class: "rank-map" }, title, place, h("p", { class: "rank-do" }, open, off));
  return { element, title, place, open, off, cursor: /** @type {{row: number, col: number}|null} */ (null) };
}

/** @type {Draw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const { by } = rankState.of(state);
  parts.by.show(by, (name) => actions.set(rankState.patch({ by: name })));
  const request = answerRequest(state, trace);
  const opened = [state.view, state.attention, state.layer, state.head].join();
  if (opened !== parts.opened) for (const block of parts.blocks.values()) block.cursor = null;
  parts.opened = opened;
  parts.again.isOpen = () => actions.get().drawer === "rank" && root.isConnected;
  parts.again.draw = () => drawFound(parts, trace, state, actions, request && parts.ranking.of(request));
  if (!request) parts.ranking.stop();
  parts.again.draw();
}

/** @param {Parts} parts @param {ModelTrace} trace @param {State} state @param {Actions} actions @param {Measured|null} measured */
function drawFound(parts, trace, state, actions, measured) {
  const { by } = rankState.of(state);
  const { start = null, found = [], done = true, error = null } = measured ?? {};
  update(parts.progress, { hidden: done || !start });
  setText(parts.progress, start ? t("rank.progress", { n: found.length, of: start.parts }) : "");
  const answer = start && h("b", null, answerOf(start));
  replace(parts.about, ...(answer ? phrase(`rank.about_${by}`, { answer }) : [t("rank.about")]));
  drawNeeds(parts, { by, start, found, done, error, pad: measured === null }, trace, actions);
  // An FFN often does more than all heads together: the colours are for the heads.
  const values = Float32Array.from(
    found.filter(({ kind }) => kind === "head"),
    (one) => one[by],
  );
  const scale = by === "kl" ? sizeScale(values) : signedScale(values, "signed", PALE);
  parts.legend.hidden = parts.maps.hidden = !found.length;
  if (!found.length || !start) return;
  const words = t(`rank.legend_${by}`);
  replace(
    parts.legend,
    scaleLegend(scale, { number: (value) => number(value, 2) }),
    " ",
    h("span", { class: "dim" }, words),
  );
  const maps = effectMaps(trace.model, found);
  const built = maps.map(({ attention }) => attention).join();
  if (built !== parts.built) {
    parts.built = built;
    parts.blocks.clear();
    for (const { attention } of maps) parts.blocks.set(attention, buildMap());
    replace(parts.maps, ...[...parts.blocks.values()].map(({ element }) => element));
  }
  for (const map of maps) drawMap(parts, map, { by, scale, start, found }, trace, state, actions);
}

/**
 * The heads that the answer needs most, in words.
 * @param {Parts} parts @param {{by: Measure, start: AblationStart|null, found: Ablation[], done: boolean, error: unknown, pad: boolean}} of
 * @param {ModelTrace} trace @param {Actions} actions
 */
function drawNeeds({ said, list }, { by, start, found, done, error, pad }, trace, actions) {
  const heads = start ? mostNeeded(found, by, MANY) : [];
  const answer = start && h("b", null, answerOf(start));
  if (error) setText(said, errorText(/** @type {any} */ (error)));
  else if (pad) setText(said, t("rank.pad"));
  else if (!answer) setText(said, t("rank.begins"));
  else replace(said, h("span", null, phrase(done && !heads.length ? "rank.none" : `rank.needs_${by}`, { answer })));
  const most = heads.length ? Math.abs(heads[0][by]) : 1;
  const rows = heads.map((one) =>
    rowOf(one, { by, most, start: /** @type {AblationStart} */ (start) }, trace, actions),
  );
  keepingFocus(list, () => replace(list, ...rows));
}

/** @param {Ablation & {kind: "head"}} one @param {{by: Measure, most: number, start: AblationStart}} of @param {ModelTrace} trace @param {Actions} actions */
function rowOf(one, { by, most, start }, { model }, actions) {
  const share = `${(Math.abs(one[by]) / most) * 100}%`;
  const bar = h("span", { class: by === "kl" ? null : "down", style: { width: share } });
  const { attention, layer, head } = one;
  const data = { attention, layer, head };
  const open = h(
    "button",
    {
      class: "rank-row",
      type: "button",
      title: t("rank.open", { part: headName(model, one) }),
      dataset: {
        testid: "rank-row",
        ...data,
        delta: one.delta,
        kl: one.kl,
        focus: `open ${attention} ${layer} ${head}`,
      },
      on: { click: () => actions.set(opening(one, actions.get())) },
    },
    h("span", null, effectPhrase(model, one, start)),
    h("span", { class: "track", "aria-hidden": true }, bar),
    h("span", { class: "mono" }, by === "kl" ? number(one.kl, 3) : signed(one.delta, 3)),
  );
  const off = h("button", {
    class: "btn",
    type: "button",
    "aria-label": switchWords(model, one, actions.get()),
    dataset: { testid: "rank-row-off", ...data, focus: `off ${attention} ${layer} ${head}` },
    on: { click: () => turn(one, model, actions) },
  });
  off.append(shortSwitch(model, one, actions.get()));
  return h("li", null, open, off);
}

/** The change that opens a head, at the step that is open if a head is. @param {Head} head @param {State} state */
const opening = ({ attention, layer, head }, state) => ({
  ...(placeOf(state).name === "head" ? null : { view: "attention" }),
  ...{ attention, layer, head },
});

/** @param {Model} model @param {Head} head @param {State} state */
const switchWords = (model, head, { interventions }) =>
  t(isOff(interventions, head, model) ? "rank.switch_on" : "rank.switch_off", { part: headName(model, head) });

/** @param {Model} model @param {Head} head @param {State} state */
const shortSwitch = (model, head, { interventions }) => t(isOff(interventions, head, model) ? "rank.on" : "rank.off");

/** Switches a head off, or on again. @param {Head} head @param {Model} model @param {Actions} actions */
const turn = (head, model, actions) => actions.set(headToggled(actions.get(), head, attentionsOf(model)));

/** @param {State["interventions"]} interventions @param {Head} head @param {Model} model */
const isOff = (interventions, head, model) =>
  headsOff(interventions, attentionsOf(model)).some((one) => headKey(one) === headKey(head));

/**
 * @param {Parts} parts @param {EffectMap} map
 * @param {{by: Measure, scale: import("../chart/matrix/scale.js").Scale, start: AblationStart, found: Ablation[]}} of
 * @param {ModelTrace} trace @param {State} state @param {Actions} actions
 */
function drawMap(parts, map, of, trace, state, actions) {
  const { attention, ffnOf, shape } = map;
  const [{ by, scale, start }, { model }] = [of, trace];
  const block = /** @type {ReturnType<typeof buildMap>} */ (parts.blocks.get(attention));
  const name = attentionName(model, attention);
  block.title.hidden = name === null;
  setText(block.title, name ?? "");
  const n_head = shape[1] - (ffnOf ? 1 : 0);
  const heads = Array.from({ length: n_head }, (_, head) => String(head));
  const partAt = (/** @type {number} */ row, /** @type {number} */ col) => map.parts[row * shape[1] + col];
  const headAt = (/** @type {number} */ layer, /** @type {number} */ head) => ({ attention, layer, head });
  const cellName = (/** @type {number} */ row, /** @type {number} */ col) =>
    col < n_head ? headName(model, headAt(row, col)) : ffnName(model, { stack: ffnOf ?? "", layer: row });
  const chosen = block.cursor ?? chosenIn(map, of, state, n_head);
  const open = (/** @type {number} */ row, /** @type {number} */ col) =>
    actions.set(col < n_head ? opening(headAt(row, col), actions.get()) : { view: "ffn", attention, layer: row });
  const hatched = map.parts.map((one) => !one || (one.kind === "head" && isOff(state.interventions, one, model)));
  const values = Float32Array.from(map.parts, (one) => one?.[by] ?? 0);
  const title = [t("rank.title"), name].filter(Boolean).join(" · ");
  drawMatrix(block.place, {
    id: ["rank", by, ...(name ? [attention] : [])].join("-"),
    title,
    label: `${title}. ${t("rank.label", { rows: shape[0], cols: n_head })}`,
    values,
    tones: values.map((value) => Math.min(scale.max, Math.max(scale.min, value))),
    shape,
    forbidden: hatched.some(Boolean) ? Uint8Array.from(hatched, Number) : null,
    onHatching: map.parts.includes(undefined) ? undefined : { text: t("rank.off_mark"), ink: cssColour("--ink-2") },
    scale,
    rows: {
      labels: Array.from({ length: shape[0] }, (_, row) => String(row)),
      title: t("rank.layers"),
      role: "",
    },
    cols: { labels: ffnOf ? [...heads, t("rank.ffn_column")] : heads, title: t("rank.heads"), role: "" },
    edges: ffnOf ? { col: n_head } : undefined,
    wide: true,
    tall: true,
    numbers: true,
    cellText: (value, { w }) => (w < ONE ? "" : (by === "kl" ? number : signed)(value, w < TWO ? 1 : 2)),
    hover(row, col) {
      const one = partAt(row, col);
      return one ? [effectWords(model, one, start), ...figuresOf(one)] : [cellName(row, col), t("rank.unmeasured")];
    },
    describe(row, col) {
      const one = partAt(row, col);
      if (!one) return [`${cellName(row, col)}: ${t("rank.unmeasured")}`];
      return [...effectPhrase(model, one, start), ` (${figuresOf(one).join(" · ")})`];
    },
    chosen: { ...chosen, span: "cell", role: "k" },
    onChoose(row, col) {
      block.cursor = { row, col };
      parts.again.draw();
    },
    onOpen: open,
    filename: `chumoku-rank-${by}${name ? `-${attention}` : ""}`,
  });
  const { row, col } = chosen;
  const opens = t("rank.open", { part: cellName(row, col) });
  update(block.open, { "aria-label": opens });
  setText(block.open, name ? t("rank.opens") : opens); // several maps: there is less room, and the readout names it
  block.open.onclick = () => open(row, col);
  block.off.hidden = col >= n_head;
  const switches = block.off.hidden ? "" : switchWords(model, headAt(row, col), state);
  update(block.off, { "aria-label": switches });
  setText(block.off, name && switches ? shortSwitch(model, headAt(row, col), state) : switches);
  block.off.onclick = () => turn(headAt(row, col), model, actions);
}

/**
 * The cell that is chosen before the reader chooses one: the open head, otherwise the head with the largest effect here.
 * @param {EffectMap} map @param {{by: Measure, found: Ablation[]}} of @param {State} state @param {number} n_head
 */
function chosenIn({ attention, shape: [n_layer] }, { by, found }, state, n_head) {
  const isHere = placeOf(state).name === "head" && (state.attention ?? attention) === attention;
  if (isHere && state.layer < n_layer && state.head < n_head) return { row: state.layer, col: state.head };
  const [most] = mostNeeded(
    found.filter((one) => one.kind === "head" && one.attention === attention),
    by,
    1,
  );
  return most ? { row: most.layer, col: most.head } : { row: 0, col: 0 };
}
