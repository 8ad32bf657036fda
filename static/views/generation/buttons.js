/** Back, Step, Play or Stop and a field for a token in the dock, Restart over the branches, and what went wrong. */

import { tokenName } from "../../model/labels.js";
import { rowOf } from "../../model/selection.js";
import { upTo } from "../../model/written.js";
import { segment } from "../../ui/controls.js";
import { h, keepWidth, replaceChanged, setText, update } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { createGenerationPlayer } from "./player.js"
 * @import { Session } from "./session.js"
 */

/** @typedef {ReturnType<typeof createGenerationPlayer>} Player */

// A button that cannot act says why and stays focusable, because disabling it would drop the keyboard's focus.

/** Beside its word; on a phone alone, or not at all (css/dock.css). @type {Record<string, string>} */
const SIGNS = { restart: "⇤", back: "‹", step: "›", play: "▶", pause: "■" };

/**
 * A button. `why`: the reason why it cannot act now, or null; `face`: its word, which is also its test id; `other`: the word
 * that it changes to; `says`: another word that it has here; `about`: what it does here, if not what its word always does.
 * @param {() => string} face @param {() => string|null} why @param {() => unknown} act
 * @param {{other?: (() => string)|null, says?: () => string, about?: () => string|null}} [more]
 */
function createButton(face, why, act, { other = null, says = face, about = () => null } = {}) {
  const click = () => why() === null && act();
  const node = h("button", { class: "btn", type: "button", on: { click } });
  const draw = () => {
    const [reason, name] = [why(), face()];
    const [sign, word, own] = [SIGNS[name], t(`generation.${name}`), t(`generation.${says()}`)];
    const content = [h("span", { class: "word" }, word), h("span", { class: "sign-text", "aria-hidden": true }, sign)];
    const usual = own === word ? null : h("span", { class: "usual", "aria-hidden": true }, content);
    replaceChanged(node, usual ? [usual, h("span", { class: "word" }, own)] : content); // as wide
    update(node, { "aria-disabled": reason === null ? null : "true" });
    node.title = reason ?? about() ?? t(`generation.${name}_about`);
    Object.assign(node.dataset, { act: name, testid: `gen-${name}` });
    if (other) keepWidth(node, `${word}\n${t(`generation.${other()}`)}`); // of both: one is bold
  };
  return { node, draw };
}

/** Why nothing can be undone, or null. @param {Session} session */
function nothingOf(session) {
  const path = session.path();
  return path !== null && path.ids.length > path.nPrompt ? null : t("generation.nothing");
}

/** What Step does in the middle of a finished text; null: it writes at the end. @param {Session} session */
function aboutStep(session) {
  const [from, now] = [session.from(), session.path()];
  if (!from || !now || from.ids.length === now.ids.length) return null;
  return t("generation.step_from", { token: tokenName(session.word(from.ids[from.ids.length - 1])) });
}

/** In the head of a sheet: from the tree to the cache and back. @param {"generation"|"cache"} here @param {Actions} actions */
export function createSheetTabs(here, actions) {
  const names = /** @type {const} */ (["generation", "cache"]);
  const tabs = segment(t("generation.title"), names, "sheet", (name) => t(`dock.${name}`));
  tabs.box.classList.add("sheet-tabs");
  for (const tab of Object.values(tabs.buttons)) keepWidth(tab, tab.textContent ?? ""); // bold or not
  tabs.show(here, (drawer) => actions.set({ drawer }));
  return tabs.box;
}

/** Step writes at the end, also while an earlier token is chosen, and says so. @param {Session} session */
function stepSays(session) {
  const [from, now] = [session.from(), session.path()];
  const behind = now !== null && from?.ids.length === now.ids.length && session.chosen(now) < now.ids.length - 1;
  return behind ? "step_end" : "step";
}

/** Back to the prompt. @param {Session} session @param {Player} player */
export function createRestart(session, player) {
  return createButton(
    () => "restart",
    () => nothingOf(session),
    () => {
      player.pause();
      session.restart();
    },
  );
}

/**
 * @param {Session} session
 * @param {Player} player
 */
export function createButtons(session, player) {
  const playing = () => player.doing === "play";
  const end = () => (session.blocked() ? t(`generation.${session.blocked()}`, { n: session.window() }) : null);
  const buttons = [
    createButton(
      () => "back",
      () => nothingOf(session),
      () => {
        player.pause();
        session.back();
      },
    ),
    createButton(
      () => (playing() ? "pause" : "play"),
      () => (playing() ? null : end()),
      () => (playing() ? player.pause() : player.play()),
      { other: () => (playing() ? "play" : "pause") },
    ),
    createButton(
      () => "step",
      () => (playing() ? t("generation.is_playing") : end()),
      player.step,
      { says: () => stepSays(session), about: () => aboutStep(session) },
    ),
  ];
  const attrs = { class: "writes", role: "group", "aria-label": t("generation.title") };
  return {
    node: h(
      "div",
      attrs,
      buttons.map(({ node }) => node),
    ),
    draw: () => buttons.forEach(({ draw }) => draw()),
  };
}

/**
 * A field for what comes next: its tokens are written after the chosen one, as a click on a candidate writes one.
 * @param {Session} session @param {Player} player @param {Actions} actions
 */
export function createTyped(session, player, actions) {
  let now = /** @type {{trace: ModelTrace, state: State}|null} */ (null);
  const enter = () => {
    const text = input.value;
    if (!now || text.trim() === "") return;
    player.pause();
    actions.set(upTo(now.trace, now.state, rowOf(now.state, now.trace)));
    input.value = "";
    player.type(text);
  };
  const attrs = {
    class: "texts",
    type: "text",
    maxLength: 100,
    spellcheck: false,
    autocomplete: "off",
    enterkeyhint: "send",
  };
  const keydown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && !event.isComposing) enter();
  };
  const input = h("input", { ...attrs, placeholder: "… ↵", dataset: { testid: "type-token" }, on: { keydown } });
  const name = h("span", { class: "name" }, t("dock.type"));
  const node = h("label", { title: t("dock.type_about") }, name, input);
  /** @param {ModelTrace} trace @param {State} state */
  const draw = (trace, state) => {
    now = { trace, state };
    node.hidden = trace.file !== null;
    input.readOnly = rowOf(state, trace) + 1 >= trace.model.max_seq_len;
  };
  return { node, draw };
}

/** An error; the path is unchanged. @param {Player} player */
export function createProblem(player) {
  const text = h("span");
  const attrs = { class: "btn", type: "button", dataset: { testid: "gen-retry" } };
  const retry = h("button", { ...attrs, on: { click: player.retry } }, t("generation.retry"));
  const node = h("p", { class: "problem", role: "alert", dataset: { testid: "gen-problem" } }, text, " ", retry);
  const draw = () => {
    const { error } = player;
    node.hidden = error === null;
    retry.hidden = player.doing !== "idle"; // it tries again by itself
    if (error) setText(text, problemText(error));
  };
  return { node, draw };
}

/** Temporary errors have their own text. @param {any} error */
function problemText(error) {
  if (error.code === "unreachable") return t("generation.unreachable");
  return error.status === 503 ? t("generation.full") : errorText(error);
}
