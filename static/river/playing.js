/** Below the picture: ▶ Watch with its slider, and which layer it shows. */

import { setText } from "../ui/dom.js";
import { layerTitle } from "../ui/heads.js";
import { t } from "../ui/i18n.js";
import { stageOf, WATCH_TIME } from "./draw/animation.js";

/** @import { Scene } from "./layout/layout.js" */

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

/** Which layer the streams have reached. @param {Scene|null} scene @param {number} time  of Watch */
export function momentOf(scene, time) {
  const stage = stageOf(time);
  if (!stage || !scene) return t("river.moment_short");
  const x = stage.flow * scene.bands[0].end;
  const passed = [...scene.bands]
    .reverse()
    .flatMap((band) => band.columns.map(({ x0 }, layer) => ({ band, x0, layer })));
  const { band, layer } = passed.findLast(({ x0 }) => x0 <= x) ?? passed[0];
  return stage.flow < 1 ? layerTitle(band, layer) : t("place.prediction");
}
