/** The sentence bar: text is traced as it is typed; errors are shown right below it. */

import { lazy } from "../../data/lazily.js";
import { keyOf } from "../../data/request.js";
import { attentionsOf, writesTarget } from "../../model/description.js";
import { readsPhotos } from "../../model/patches.js";
import { isEmpty, keptChoice } from "../../model/selection.js";
import { h, replace, setText, update } from "../../ui/dom.js";
import { keyFor, languageName, t } from "../../ui/i18n.js";
import { createNotes } from "../notes.js";
import { showProblem, tookText } from "../status.js";
import { createStrip } from "./strip.js";
import { directionOf, wayBack } from "./translation_sides.js";
import { createEditing, createGrowing, createTyping } from "./typing.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Context, Draw } from "../../page.js"
 * @import { Patch, State } from "../../state/store.js"
 * @import { SentenceParts } from "../frame.js"
 */

/** @param {Context} context @returns {Draw} */
export function createSentence(context) {
  const { actions, status, frame, early, modelOf, examples } = context;
  const parts = frame.sentence;
  const { input, took } = parts;
  const drawStrip = createStrip(parts.strip, actions, "source");
  const drawTarget = createTarget(parts, context);
  const drawPair = createPair(parts, context);
  openChatWith(parts.chat, context);
  const drawPicture = whenPictured(parts, context);
  const drawNotes = createNotes(parts.notes, context);
  let drawn = /** @type {ModelTrace|null} */ (null);
  const typing = createTyping(input, (text) => {
    const choice = keptChoice(drawn, actions.get(), text);
    const own = withoutPads(examples, actions.get());
    actions.set({ text, ids: null, nPrompt: null, targetIds: null, ...choice, ...own });
  });
  const grow = createGrowing(input);
  createEditing(parts, context.ground, () => actions.get().start);
  if (early !== null) typing.takeEarly(early);
  let said = "";
  let used = /** @type {import("./strip.js").Used|null} */ (null);
  let now = /** @type {State|null} */ (null);
  hearSource(frame.root, (detail) => {
    used = detail;
    if (drawn && now) drawStrip(drawn, now, used);
  });

  return (trace, state, error) => {
    drawn = trace;
    update(parts.element, { "aria-label": t(keyFor(modelOf(state), "sentence.label")) });
    const written = state.file !== null || (state.ids && !state.text);
    const text = written && trace ? trace.text : state.text;
    if (!typing.pending() && input.value !== text) input.value = text;
    grow();
    drawPicture(trace, state);
    const isTarget = String(/** @type {any} */ (error)?.where ?? "").startsWith("target");
    showProblem(parts.problem, input, isTarget ? null : error);
    now = state;
    drawStrip(trace, state, used);
    drawTarget(trace, state, isTarget ? error : null);
    drawPair(trace, state);
    parts.chat.hidden = !modelOf(state)?.chat || state.file !== null;
    drawNotes(trace, state, error);
    parts.element.classList.toggle("stale", error !== null || trace?.key !== keyOf(state));
    const shown = trace && !error;
    setText(took, shown ? tookText(trace) : "");
    if (shown && trace.key !== said) {
      said = trace.key;
      status.say(drawnWords(trace));
      frame.root.dataset.traced = trace.key;
    }
  };
}

/** What the river of this page says; that of a page inside it (beside.js) is not told to this one. @param {HTMLElement} root @param {(used: import("./strip.js").Used|null) => void} then */
export function hearSource(root, then) {
  root.addEventListener("usedsource", (event) => {
    event.stopPropagation();
    then(/** @type {CustomEvent} */ (event).detail);
  });
}

/**
 * A model of pictures has a picture in the sentence's place, drawn or uploaded; the code of each kind is loaded with its
 * first model.
 * @param {SentenceParts} parts @param {Context} context @returns {(trace: ModelTrace|null, state: State) => void}
 */
function whenPictured({ input, row, under, picture: root }, context) {
  const { main, path } = context.frame;
  const kinds = {
    drawn: pictureKind(
      { root, under },
      context,
      lazy(async () => (await import("./picture/picture.js")).createPicture),
    ),
    photo: pictureKind(
      { root, under },
      context,
      lazy(async () => (await import("./picture/photo.js")).createPhoto),
    ),
  };
  return (trace, state) => {
    const model = context.modelOf(state);
    const reads = model?.picture && (readsPhotos(model) ? "photo" : "drawn");
    input.hidden = Boolean(reads);
    root.hidden = !reads;
    // Large, next to the river; where nothing is read yet, in the place of the text. Not while a stroke is drawn.
    const staged = Boolean(reads) && !isEmpty(state);
    if ((root.parentElement === main) !== staged && !root.matches(":active")) {
      if (staged) path.element.after(root);
      else row.append(root);
      main.classList.toggle("pictured", staged);
    }
    for (const [name, kind] of Object.entries(kinds)) kind(name === reads, trace, state);
  };
}

/**
 * @param {{root: HTMLElement, under: HTMLElement}} parts @param {Context} context
 * @param {{code: ((root: HTMLElement, context: Context, line: HTMLElement) => (trace: ModelTrace|null, state: State) => void)|null, load: () => Promise<void>}} code
 * @returns {(shown: boolean, trace: ModelTrace|null, state: State) => void}
 */
function pictureKind({ root, under }, context, code) {
  const place = h("div", { class: "picture-kind", hidden: true });
  const line = h("div", { class: "picture-line", hidden: true });
  under.append(line);
  /** @type {((trace: ModelTrace|null, state: State) => void)|null} */
  let draw = null;
  root.append(place);
  return (shown, trace, state) => {
    place.hidden = !shown;
    line.hidden = !shown;
    if (!shown) return;
    if (draw) return draw(trace, state);
    code.load().then(() => {
      draw ??= /** @type {any} */ (code.code)(place, context, line);
      if (!place.hidden) draw?.(trace, context.actions.get());
    }, context.status.notice);
  };
}

/**
 * The reader's own sentence begins without the PADs that a card added.
 * @param {any} examples @param {Pick<State, "model"|"text"|"padCount">} state  before it is typed
 * @returns {Patch}
 */
export function withoutPads({ examples }, { model, text, padCount }) {
  const brought = (/** @type {{model?: string, text?: string, padCount?: number}} */ one) =>
    one.padCount === padCount && one.text === text && (!model || one.model === model);
  return padCount > 0 && examples.some(brought) ? { padCount: 0, padSide: "left" } : {};
}

/** "7 tokens, 48 heads drawn". @param {ModelTrace} trace */
function drawnWords({ sides, model, nLayer, nHead }) {
  const counts = [sides.source, sides.target].map((side) => side && t("sentence.tokens", { n: side.tokens.length }));
  const heads = attentionsOf(model).length * nLayer * nHead;
  return t("status.drawn", { tokens: counts.filter(Boolean).join(" → "), heads: t("shape.heads", { n: heads }) });
}

/** The dialog is loaded with its first click. @param {HTMLElement} button @param {Context} context */
function openChatWith(button, context) {
  const dialog = lazy(async () => (await import("./chat.js")).createChat(context));
  button.addEventListener("click", () => dialog.load().then(() => dialog.code?.(), context.status.notice));
}

/**
 * A second text, for a model that reads two together: a hypothesis, a context. Empty, there is one text.
 * @param {SentenceParts} parts @param {Context} context
 */
function createPair({ pairRow: row, pair: input, addPair: add, edit }, { actions, modelOf }) {
  const grow = createGrowing(input);
  add.addEventListener("click", () => {
    edit.click(); // shows the fields
    input.focus();
  });
  const typing = createTyping(input, (pair) =>
    actions.set({ pair: pair === "" ? null : pair, ids: null, nPrompt: null, ...UNCHOSEN }),
  );
  /** @param {ModelTrace|null} trace @param {State} state */
  return (trace, state) => {
    const saved = state.file !== null;
    row.hidden = !modelOf(state)?.pairs || state.ids !== null || (saved && trace?.pair === null);
    add.hidden = row.hidden || saved || state.pair !== null;
    if (row.hidden) return;
    const text = (saved ? trace?.pair : state.pair) ?? "";
    if (!typing.pending() && input.value !== text) input.value = text;
    input.readOnly = saved;
    grow();
  };
}

// The target of an encoder-decoder: its own translation, or the reader's text, read as if the model had written it.

/** @param {SentenceParts} parts @param {Context} context */
function createTarget(parts, { actions, modelOf }) {
  const { targetRow: row, target: input, targetAbout: about, targetOwn: own, targetSwitch: back } = parts;
  const drawStrip = createStrip(parts.targetStrip, actions, "target");
  const grow = createGrowing(input);
  const typing = createTyping(input, (target) => actions.set({ target, targetIds: null }));
  own.addEventListener("click", () => {
    actions.set({ target: null, targetIds: null, ...atEnd(actions.get(), modelOf) });
    input.focus();
  });

  back.addEventListener("click", () => {
    actions.set({ ...swapped(input.value), ...UNCHOSEN });
    parts.input.focus();
  });

  /**
   * @param {ModelTrace|null} trace @param {State} state
   * @param {Error|null} error  about the target
   */
  return (trace, state, error) => {
    const shown = trace?.sides.target ? trace : null;
    row.hidden = !writesTarget(modelOf(state));
    drawStrip(row.hidden ? null : shown, state);
    parts.targetStrip.hidden = row.hidden || !shown;
    showProblem(parts.targetProblem, input, row.hidden ? null : error);
    if (row.hidden) return;
    const isOwn = state.target === null && state.targetIds === null;
    const text = state.target ?? shown?.targetText ?? "";
    if (!typing.pending() && input.value !== text) input.value = text;
    grow();
    input.readOnly = state.file !== null;
    own.hidden = isOwn || state.file !== null;
    drawSwitch(back, modelOf(state), state, text);
    row.classList.toggle("stale", shown?.key !== keyOf(state));
    setText(about, t(`target.${kindOf(state, shown)}`));
  };
}

/** Says whether the target is the model's or the reader's. @param {State} state @param {ModelTrace|null} trace */
function kindOf({ target, targetIds, file }, trace) {
  if (file !== null) return trace?.targetFrom === "greedy" ? "greedy" : "saved";
  if (targetIds) return "taken";
  if (target === null) return "greedy";
  return target === "" ? "empty" : "typed";
}

/** A new target has new rows: the last one is chosen if they belong to the open head. @param {State} state @param {Context["modelOf"]} modelOf */
function atEnd(state, modelOf) {
  return attentionsOf(modelOf(state)).length > 1 && state.attention !== "encoder" ? { query: null, key: null } : {};
}

/** The translation becomes the sentence, and the model translates it back. @param {string} text */
const swapped = (text) => ({ text, ids: null, nPrompt: null, target: null, targetIds: null });
const UNCHOSEN = { query: null, key: null, answer: null };

/** Offered where the model translates both ways. @param {HTMLElement} button @param {any} model @param {State} state @param {string} text  the translation */
function drawSwitch(button, model, state, text) {
  const back = wayBack(model, directionOf(model, state.text));
  button.hidden = !back || !text.trim() || state.file !== null;
  if (!back) return;
  const [from, to] = back.map(languageName);
  if (!button.firstChild)
    replace(button, h("span", { "aria-hidden": true }, "⇄ "), h("span", { class: "word" }, t("target.switch")));
  button.title = t("target.switch_about", { from, to });
}
