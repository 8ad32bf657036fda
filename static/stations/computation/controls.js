/** The controls above the steps of the walk: Previous, Play, Next, and the pace of Play. */

import { h, keepWidth, setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { PACES } from "./own.js";

/**
 * @param {{open: number}} parts  of the walk @param {ReturnType<typeof import("./player.js").createPlayer>} player
 * @param {(index: number) => void} jump @param {(pace: typeof PACES[number]) => void} choosePace
 */
export function controlsOf(parts, player, jump, choosePace) {
  const button = (name, act, kind = "btn") =>
    h(
      "button",
      { class: kind, type: "button", dataset: { testid: `walk-${name}` }, on: { click: act } },
      t(`computation.${name}`),
    );
  const where = h("span", { class: "dim walk-where", dataset: { testid: "walk-where" } });
  const previous = button("previous", () => jump(parts.open - 1));
  const next = button("next", () => jump(parts.open + 1));
  const play = button("play", () => (player.playing ? player.stop() : player.play()), "btn primary");
  keepWidth(play, t("computation.pause"));
  const pace = h(
    "select",
    {
      "aria-label": t("computation.pace"),
      dataset: { testid: "walk-pace" },
      on: { change: ({ target }) => choosePace(target.value) },
    },
    PACES.map((seconds) => h("option", { value: seconds }, t("computation.seconds", { n: Number(seconds) }))),
  );
  const buttons = h("div", { class: "walk-buttons" }, previous, play, next);
  return { where, previous, next, play, pace, controls: h("div", { class: "walk-controls" }, buttons, pace, where) };
}

/** @param {any} walk @param {typeof PACES[number]} seconds  the pace */
export function drawControls({ where, previous, next, pace, open, steps }, seconds) {
  setText(where, t("computation.where", { i: open + 1, n: steps.length }));
  update(previous, { "aria-disabled": open === 0 ? "true" : null });
  update(next, { "aria-disabled": open === steps.length - 1 ? "true" : null });
  if (pace.value !== seconds) pace.value = seconds;
}

/** Play, or Pause while it plays; as wide as either. */
export function showPlay({ play, player }) {
  const [now, other] = player.playing ? ["pause", "play"] : ["play", "pause"];
  setText(play, t(`computation.${now}`));
  keepWidth(play, t(`computation.${other}`));
}
