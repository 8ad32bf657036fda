/**
 * Restart, Back, Step, Write on or Stop. A button that cannot act says why and stays focusable, because disabling it would
 * drop the keyboard's focus.
 */

import { h, keepWidth, setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";

/** The word being said may be the wider one: while the button works, it is bold. @param {string} a @param {string} b */
const longer = (a, b) => (a.length < b.length ? b : a);

/**
 * @param {ReturnType<typeof import("./session.js").createSession>} session
 * @param {ReturnType<typeof import("./player.js").createPlayer>} player
 */
export function createButtons(session, player) {
  /** @type {(() => void)[]} */
  const shows = [];

  /**
   * `why`: the reason why it cannot act now, or null; `face`: its word, which is also its test id; `other`: the word
   * that it changes to.
   */
  function button(face, why, act, other = /** @type {(() => string)|null} */ (null)) {
    const click = () => why() === null && act();
    const node = h("button", { type: "button", on: { click } });
    shows.push(() => {
      const [reason, name] = [why(), face()];
      setText(node, t(`generation.${name}`));
      update(node, { "aria-disabled": reason === null ? null : "true" });
      node.title = reason ?? t(`generation.${name}_about`);
      Object.assign(node.dataset, { act: name, testid: `gen-${name}` });
      if (other) keepWidth(node, longer(node.textContent, t(`generation.${other()}`)));
    });
    return node;
  }

  const generated = () => {
    const path = session.path();
    return path !== null && path.ids.length > path.nPrompt;
  };
  const nothing = () => (generated() ? null : t("generation.nothing"));
  const undo = (act) => () => {
    player.pause();
    act();
  };
  const playing = () => player.doing === "play";
  const end = () => (session.blocked() ? t(`generation.${session.blocked()}`, { n: session.window() }) : null);

  const node = h(
    "div",
    { class: "seg", role: "group", "aria-label": t("generation.title") },
    button(() => "restart", nothing, undo(session.restart)),
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
  );
  return { node, draw: () => shows.forEach((show) => show()) };
}
