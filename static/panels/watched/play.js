/** Plays the snapshots from step 0 on, each for a moment after it is drawn. */

import { setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";

/** How long each is seen. */
const PAUSE_MS = 1200;

/** @param {HTMLButtonElement} button */
export function createPlay(button) {
  let timer = 0;
  let playing = false;
  /** @type {{place: number, last: number, open: (place: number) => void}} */
  let now = { place: 0, last: 0, open() {} };

  /** @param {boolean} on */
  function show(on) {
    playing = on;
    clearTimeout(timer);
    setText(button, t(on ? "watched.pause" : "watched.play"));
    update(button, { "aria-pressed": on });
  }
  const onward = () => now.open(now.place === now.last ? 0 : now.place + 1);
  button.addEventListener("click", () => {
    show(!playing);
    if (playing) onward();
  });
  show(false);
  return {
    stop: () => show(false),
    /** The model at this place of the slider is drawn. @param {typeof now} at */
    drawn(at) {
      now = at;
      if (!playing) return;
      if (at.place === at.last) return show(false);
      clearTimeout(timer);
      timer = setTimeout(onward, PAUSE_MS);
    },
  };
}
