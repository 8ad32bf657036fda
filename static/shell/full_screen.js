/** Shows only the opened panel on the screen, for a class; or the whole page. */

import { h, svg, update } from "../ui/dom.js";
import { t } from "../ui/i18n.js";

/** @import { Context, Follow } from "../page.js" */

/**
 * A button for the browser's full screen, or else the whole window. Escape leaves it.
 * @param {Context} context @returns {Follow}
 */
export function createFullScreen({ frame: { opened }, ground }) {
  const button = h(
    "button",
    { class: "btn icon full-button", type: "button", dataset: { testid: "full-screen" }, on: { click: toggle } },
    fullSign(),
  );
  opened.prepend(button);
  const isFull = () => document.fullscreenElement === opened || opened.classList.contains("full");

  async function toggle() {
    if (isFull()) return leave();
    const entered = await opened.requestFullscreen?.().then(
      () => true,
      () => false, // not allowed here: in a frame, or on a phone
    );
    if (!entered) opened.classList.add("full");
    show();
  }

  function leave() {
    opened.classList.remove("full");
    if (document.fullscreenElement === opened) document.exitFullscreen();
    show();
  }

  function show() {
    const on = isFull();
    update(button, { "aria-pressed": on, "aria-label": t("full.button"), title: t(on ? "full.leave" : "full.button") });
  }

  opened.addEventListener("fullscreenchange", show);
  ground.addEventListener("keydown", (event) => {
    const { key, defaultPrevented } = /** @type {KeyboardEvent} */ (event);
    if (key !== "Escape" || defaultPrevented || !opened.classList.contains("full")) return;
    event.preventDefault(); // a lesson stays open
    leave();
  });
  show();
  return () => {};
}

/** Shows the whole page on the whole screen, for a class, as the browser's key does, with a button that readers find. @param {HTMLElement} button */
export function createFullPage(button) {
  button.hidden = !document.fullscreenEnabled;
  button.addEventListener("click", () => {
    if (document.fullscreenElement) document.exitFullscreen();
    else document.documentElement.requestFullscreen().catch(() => {});
  });
  document.addEventListener("fullscreenchange", () =>
    update(button, { "aria-pressed": document.fullscreenElement === document.documentElement }),
  );
}

/** Four corners. */
export const fullSign = () =>
  svg(
    "svg",
    { viewBox: "0 0 16 16", class: "sign", "aria-hidden": true },
    svg("path", { d: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4" }),
  );
