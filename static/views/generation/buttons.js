/** Back, Step, Play or Stop, Restart, and what went wrong. */

import { h, keepWidth, replace, setText, update } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";

/**
 * @import { createGenerationPlayer } from "./player.js"
 * @import { Session } from "./session.js"
 */

/** @typedef {ReturnType<typeof createGenerationPlayer>} Player */

// A button that cannot act says why and stays focusable, because disabling it would drop the keyboard's focus.

/** Beside its word; on a phone alone, or not at all (css/dock.css). @type {Record<string, string>} */
const SIGNS = { restart: "⇤", back: "‹", step: "›", play: "▶", pause: "■" };

/**
 * @param {Session} session
 * @param {Player} player
 */
export function createButtons(session, player) {
  /** @type {(() => void)[]} */
  const shows = [];

  /**
   * `why`: the reason why it cannot act now, or null; `face`: its word, which is also its test id; `other`: the word
   * that it changes to.
   * @param {() => string} face @param {() => string|null} why @param {() => unknown} act @param {(() => string)|null} other
   */
  function button(face, why, act, other = null) {
    const click = () => why() === null && act();
    const node = h("button", { class: "btn", type: "button", on: { click } });
    shows.push(() => {
      const [reason, name] = [why(), face()];
      const [sign, word] = [SIGNS[name], t(`generation.${name}`)];
      const content = [
        h("span", { class: "word" }, word),
        h("span", { class: "sign-text", "aria-hidden": true }, sign),
      ];
      if (node.textContent !== word + sign) replace(node, content);
      update(node, { "aria-disabled": reason === null ? null : "true" });
      node.title = reason ?? t(`generation.${name}_about`);
      Object.assign(node.dataset, { act: name, testid: `gen-${name}` });
      if (other) keepWidth(node, `${word}\n${t(`generation.${other()}`)}`); // of both: one is bold
    });
    return node;
  }

  const generated = () => {
    const path = session.path();
    return path !== null && path.ids.length > path.nPrompt;
  };
  const nothing = () => (generated() ? null : t("generation.nothing"));
  const undo = (/** @type {() => false|void|undefined} */ act) => () => {
    player.pause();
    act();
  };
  const playing = () => player.doing === "play";
  const end = () => (session.blocked() ? t(`generation.${session.blocked()}`, { n: session.window() }) : null);

  const restart = button(() => "restart", nothing, undo(session.restart));
  const node = h(
    "div",
    { class: "writes", role: "group", "aria-label": t("generation.title") },
    button(() => "back", nothing, undo(session.back)),
    button(
      () => "step",
      () => (playing() ? t("generation.is_playing") : end()),
      player.step,
    ),
    button(
      () => (playing() ? "pause" : "play"),
      () => (playing() ? null : end()),
      () => (playing() ? player.pause() : player.play()),
      () => (playing() ? "play" : "pause"),
    ),
    restart,
  );
  return { node, restart, draw: () => shows.forEach((show) => show()) };
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
