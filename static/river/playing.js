/**
 * The buttons around the picture: ▶ Watch with its slider; Next word, which appends the answer; and Keep writing, which
 * repeats that.
 */

import { keyOf } from "../data/request.js";
import { taken } from "../model/written.js";
import { setText, update } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { WATCH_TIME } from "./draw/animation.js";

/**
 * @import { Facts } from "./facts.js"
 * @import { Now } from "./river.js"
 */

/** The slider's last step. */
const LAST = 1000;

/**
 * Plays the picture from its beginning; the slider goes to any moment of it.
 * @param {{watch: HTMLButtonElement, scrub: HTMLInputElement}} parts @param {(time: number) => void} onTime  0 to 1
 */
export function createWatch({ watch, scrub }, onTime) {
  let frame = 0;
  let time = 1;
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  /** @param {number} to */
  function set(to) {
    time = Math.min(1, Math.max(0, to));
    scrub.value = String(Math.round(time * LAST));
    onTime(time);
  }

  function pause() {
    cancelAnimationFrame(frame);
    frame = 0;
    setText(watch, t("river.watch"));
  }

  function play() {
    const from = time >= 1 ? 0 : time;
    const start = performance.now();
    scrub.classList.add("used"); // at Look it comes with the first play
    setText(watch, t("river.pause"));
    /** @param {number} now */
    const step = (now) => {
      set(from + Math.max(0, now - start) / WATCH_TIME);
      if (time < 1) frame = requestAnimationFrame(step);
      else pause();
    };
    frame = requestAnimationFrame(step);
  }

  scrub.max = String(LAST);
  set(1);
  pause();
  watch.hidden = still.matches; // the picture is still: the slider shows its moments
  still.addEventListener("change", () => {
    watch.hidden = still.matches;
    if (still.matches) end();
  });
  watch.addEventListener("click", () => (frame ? pause() : play()));
  scrub.addEventListener("input", () => {
    pause();
    set(Number(scrub.value) / LAST);
  });

  /** To the last moment: something else is shown. */
  function end() {
    pause();
    if (time < 1) set(1);
  }
  return { end };
}

/** How long each word stays before the next one. Milliseconds. */
const PACE = 900;

/** The change that takes the answer; null where nothing follows: END, or a full window. @param {Now} now @param {Facts} facts */
function nextOf({ trace, state }, { row, answers: [answer] }) {
  const { written, model, file } = trace;
  if (!written || file !== null || !answer || row + 1 >= model.max_seq_len || answer.id === model.special.end)
    return null;
  return taken(trace, state, row, answer.id);
}

/** @param {{next: HTMLButtonElement, write: HTMLButtonElement, writing: HTMLElement}} parts */
export function createWriting(parts) {
  let now = /** @type {Now|null} */ (null);
  let patch = /** @type {ReturnType<typeof nextOf>} */ (null);
  let expected = /** @type {string|null} */ (null); // what is shown next, while it keeps writing
  let timer = 0;
  let waits = ""; // the key of the trace after which the next word is taken

  function take() {
    if (!now || !patch) return stop();
    now.actions.set(patch);
    if (expected !== null) expected = keyOf(now.actions.get());
  }

  function stop() {
    clearTimeout(timer);
    expected = null;
    waits = "";
    setText(parts.write, t("river.write_on"));
  }

  parts.next.addEventListener("click", () => {
    stop();
    take();
  });
  parts.write.addEventListener("click", () => {
    if (expected !== null || !now) return stop();
    expected = keyOf(now.state);
    setText(parts.write, t("river.write_stop"));
    take();
  });

  return {
    stop,
    /** @param {Now} newest @param {Facts} facts */
    show(newest, facts) {
      now = newest;
      patch = nextOf(newest, facts);
      parts.writing.hidden = !newest.trace.written || newest.trace.file !== null;
      update(parts.next, { disabled: patch === null });
      update(parts.write, { disabled: patch === null && expected === null });
      if (expected === null) return;
      const shown = newest.trace.key;
      if (keyOf(newest.actions.get()) !== expected)
        stop(); // something else was chosen
      else if (shown === expected && shown !== waits) {
        waits = shown; // what is measured of it comes later, and many times
        timer = Number(setTimeout(take, PACE));
      }
    },
  };
}
