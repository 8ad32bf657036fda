/** What each head and each FFN does for an answer: measured, and in words; how a head is opened and switched off. */

import { retrying } from "../../data/ask.js";
import { editing, isTrained, withChanges } from "../../model/compare/runs.js";
import { attentionOf, attentionsOf, showsMeans } from "../../model/description.js";
import { headKey, headsOff, headToggled } from "../../model/edits.js";
import { labelName, tokenLabel } from "../../model/labels.js";
import { indexOfMost } from "../../model/matrix.js";
import { rowOf } from "../../model/selection.js";
import { h, keepingFocus, replace, signedTrack } from "../../ui/dom.js";
import { briefPercent, number, percent, signed } from "../../ui/format.js";
import { attentionWords, headWords } from "../../ui/heads.js";
import { phrase, t } from "../../ui/i18n.js";
import { className, predictionPlace } from "../../ui/token_text.js";
import { placeOf } from "../places.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Ablation, AblationStart } from "../../data/streams.js"
 * @import { Measure as By, Part } from "../../model/ablations.js"
 * @import { Model } from "../../model/description.js"
 * @import { Head } from "../../model/edits.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 */

// One measurement at a time: of the newest run, row and answer.

/** Between two keystrokes nothing is measured. Milliseconds. */
const PAUSE = 250;

/**
 * @template [One=Ablation], [Start=AblationStart]
 * @typedef {{key: string, start: Start|null, found: One[], done: boolean, error: unknown}} Measured
 */

/**
 * @template One, Start
 * @typedef {(request: object, options: {signal: AbortSignal, onStart: (start: Start) => void, onOne: (one: One) => void}) => Promise<void>} Measure
 */

/**
 * @template [One=Ablation], [Start=AblationStart]
 * @param {() => void} onChange  there is something new @param {() => boolean} isWanted  whether anyone still sees it
 * @param {Measure<One, Start>} measure
 */
export function createRanking(onChange, isWanted, measure) {
  let control = new AbortController();
  let timer = 0;
  /** @type {Measured<One, Start>} */
  let measured = { key: "", start: null, found: [], done: true, error: null };

  /** @param {Measured<One, Start>} now @param {object} request @param {AbortSignal} signal */
  async function run(now, request, signal) {
    const changed = () => {
      if (isWanted()) onChange();
      else stop();
    };
    const onOne = (/** @type {One} */ one) => {
      now.found.push(one);
      changed();
    };
    const onStart = (/** @type {Start} */ start) => void Object.assign(now, { start, found: [] });
    try {
      await retrying(() => measure(request, { signal, onStart, onOne }), { signal });
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
    /** What is known about a question; it is measured after a short pause. @param {object} request @returns {Measured<One, Start>} */
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
    /** What was measured before it was stopped. */
    last: () => measured,
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
export const ffnName = (model, { stack, layer }) =>
  t(model.description.stacks.length > 1 ? `rank.ffn_${stack}` : "rank.ffn", { layer });

/** @param {Model} model @param {Part} one */
const nameOf = (model, one) => (one.kind === "ffn" ? ffnName(model, one) : headName(model, one));

/** The answer's name in a sentence. @param {AblationStart} start */
export const measuredAnswer = ({ answer, classes, tokens }) =>
  classes.length ? className(classes[answer]) : labelName(tokenLabel(tokens[answer]));

/** @param {Model} model @param {Part} one @param {AblationStart} start */
function effectOf(model, one, start) {
  const [before, after] = [percent(start.p), percent(one.p)]; // heads of close effects differ in the first decimal
  const key = before === after ? "stays" : one.delta < 0 ? "falls" : "rises";
  return { key: `rank.${key}`, vars: { part: nameOf(model, one), answer: measuredAnswer(start), before, after } };
}

/** "Without head 5·5, car falls from 98 % to 31 %". @param {Model} model @param {Part} one @param {AblationStart} start */
export function effectWords(model, one, start) {
  const { key, vars } = effectOf(model, one, start);
  return t(key, vars);
}

/** The same, with the answer in bold. @param {Model} model @param {Part} one @param {AblationStart} start */
export function effectPhrase(model, one, start) {
  const { key, vars } = effectOf(model, one, start);
  return phrase(key, { ...vars, answer: h("b", null, vars.answer) });
}

/** "ln p −1.152", "KL 0.918". @param {Part} one */
export const effectFigures = (one) => [
  t("rank.delta", { delta: signed(one.delta, 3) }),
  t("rank.kl", { kl: number(one.kl, 3) }),
];

/** The FFN that does most; null: there is none. @param {Ablation[]} found @param {By} by */
export const strongestFfn = (found, by) =>
  found
    .filter((one) => one.kind === "ffn")
    .reduce(
      (most, one) => (most === null || Math.abs(one[by]) > Math.abs(most[by]) ? one : most),
      /** @type {Part & {kind: "ffn"}|null} */ (null),
    );

/** @param {Ablation} one @param {By} by */
const measuredText = (one, by) => signedBy(one[by], by, 3);

/** A KL has no sign. @param {number} value @param {By} by @param {number} digits */
const signedBy = (value, by, digits) => (by === "kl" ? number : signed)(value, digits);

/** Below this an answer has no percentage points to lose. */
const RARE = 0.02;

/**
 * In what the maps, their legend and a saved figure are: a change of ln p is the percentage points that the answer gains or loses,
 * unless it is a rare one. `of`: a measured number in that unit; `write`: such a number as text.
 * @param {By} by @param {Pick<AblationStart, "p">} start
 * @returns {{name: By|"points", of: (value: number) => number, write: (value: number, digits?: number) => string}}
 */
export function measureUnit(by, { p }) {
  if (by === "delta" && p >= RARE)
    return {
      name: "points",
      of: (value) => 100 * p * Math.expm1(value),
      write: (value, digits = 1) => signed(value, digits),
    };
  return { name: by, of: (value) => value, write: (value, digits = 2) => signedBy(value, by, digits) };
}

/** "97.6 → 92.9 %". @param {Ablation} one @param {Pick<AblationStart, "p">} start */
const changeText = (one, start) => `${percent(start.p).replace(/\s*%$/, "")} → ${percent(one.p)}`;

/**
 * The answers that can be measured under the reader's edits: the one before them, the one that comes first now, and the chosen one. `measured`:
 * which one is; null: its name is not here.
 * @param {ModelTrace} trace @param {State} state @param {Object<string, any>} [tokens]  of what was measured, by id
 */
export function answersUnderEdits(trace, state, tokens = {}) {
  const { classes, predictions } = trace;
  const before = trace.asTrained ?? trace.withoutKnockouts;
  if (classes) {
    const was = before?.classes ? indexOfMost(before.classes.map(({ probability }) => probability)) : null;
    const measured = state.answer ?? was;
    const offered = measured === null ? [] : [{ id: measured, name: className(classes[measured].name) }];
    return { was, measured, offered };
  }
  const row = trace.written && rowOf(state, trace);
  const [first, now] = [before?.predictions, predictions].map((one) => (row !== null && one?.[row]?.candidates) || []);
  const named = Object.entries(tokens).map(([id, token]) => ({ ...token, id: Number(id) }));
  const chosen = [...first, ...now, ...named].find(({ id }) => id === state.answer);
  const all = [first[0], first[0] && now[0], chosen].filter((one) => one !== undefined);
  const offered = [...new Map(all.map((one) => [one.id, { id: one.id, name: labelName(tokenLabel(one)) }])).values()];
  const [was, asked] = [first[0]?.id ?? null, state.answer ?? first[0]?.id];
  return { was, measured: offered.find(({ id }) => id === asked)?.id ?? null, offered };
}

/**
 * What is measured with the reader's edits says so, and for which answer: the one before the edits, or by choice what comes first now.
 * @param {HTMLElement} root @param {ModelTrace} trace @param {State} state @param {Actions} actions @param {Object<string, any>} [tokens]
 */
export function drawEdited(root, trace, state, actions, tokens) {
  root.hidden = isTrained(state);
  if (root.hidden) return;
  const { was, measured, offered } = answersUnderEdits(trace, state, tokens);
  if (measured === null) return keepingFocus(root, () => replace(root, t("rank.edited")));
  const change = () => actions.set({ answer: Number(choice.value) === was ? null : Number(choice.value) });
  const attrs = { "aria-label": t("rank.measured_for"), dataset: { focus: "rank-answer" } };
  const options = offered.map(({ id, name }) => h("option", { value: id }, name));
  const choice = /** @type {HTMLSelectElement} */ (h("select", { ...attrs, on: { change } }, options));
  choice.value = String(measured);
  const answer = offered.length > 1 ? choice : h("b", null, offered[0].name);
  keepingFocus(root, () => replace(root, ...phrase("rank.with_edits", { answer })));
}

/** What the numbers of a saved ranking are. @param {By} by @param {AblationStart} start @param {ModelTrace} trace @param {boolean} ffns  it has a column of FFNs */
export function figureAbout(by, start, trace, ffns) {
  const place = answerPlace(trace, start.row);
  const words = { answer: measuredAnswer(start), p: briefPercent(start.p), place };
  return t(`rank.figure_${measureUnit(by, start).name}`, { ...words, ffns: ffns ? t("rank.figure_ffns") : "" });
}

/** Where an answer is read: "row 13 predicts token 14, after “… the red”"; a classifier answers once. @param {ModelTrace} trace @param {number|null} row */
export const answerPlace = (trace, row) =>
  trace.written && row !== null ? predictionPlace(trace, row) : t("rank.figure_classes");

// What a head leads to.

/** The change that opens a head, at the step that is open if a head is. @param {Head} head @param {State} state */
export const opening = ({ attention, layer, head }, state) => ({
  ...(placeOf(state).name === "head" ? null : { view: "attention" }),
  ...{ attention, layer, head },
});

/** @param {Model} model @param {Head} head @param {State} state */
export const switchWords = (model, head, state) =>
  t(isOff(withChanges(state, model).interventions, head, model) ? "rank.switch_on" : "rank.switch_off", {
    part: headName(model, head),
  });

/** @param {Model} model @param {Head} head @param {State} state */
export const shortSwitch = (model, head, state) =>
  t(isOff(withChanges(state, model).interventions, head, model) ? "rank.on" : "rank.off");

/** Switches a head off, or on again. @param {Head} head @param {Model} model @param {Actions} actions */
export function turn(head, model, actions) {
  actions.set(editing(actions.get(), model, (state) => headToggled(state, head, attentionsOf(model))));
}

/** @param {State["interventions"]} interventions @param {Head} head @param {Model} model */
export const isOff = (interventions, head, model) =>
  headsOff(interventions, attentionsOf(model)).some((one) => headKey(one) === headKey(head));

/** A head that the answer needs: opened by a click, switched off by its button. @param {Ablation & {kind: "head"}} one @param {{by: By, values: number[], start: AblationStart}} of @param {ModelTrace} trace @param {Actions} actions */
export function rankedRow(one, { by, values, start }, { model }, actions) {
  const { attention, layer, head } = one;
  const data = { attention, layer, head };
  const without = isOff(actions.get().interventions, one, model); // in the run that is shown
  const change = by === "kl" ? measuredText(one, by) : changeText(one, start);
  const open = h(
    "button",
    {
      class: "rank-row",
      type: "button",
      title: [t("rank.open", { part: headName(model, one) }), effectFigures(one).join(" · ")].join("\n"),
      dataset: {
        testid: "rank-row",
        ...data,
        delta: one.delta,
        kl: one.kl,
        focus: `open ${attention} ${layer} ${head}`,
      },
      on: { click: () => actions.set({ ...opening(one, actions.get()), drawer: null }) },
    },
    h(
      "span",
      { class: "sr-only" },
      without ? `${headName(model, one)}: ${t("rank.off_mark")}` : effectPhrase(model, one, start),
    ),
    h("b", { "aria-hidden": true }, headName(model, one)),
    signedTrack(without ? 0 : one[by], values),
    h("span", { class: "mono", "aria-hidden": true }, without ? t("rank.off_mark") : change),
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
