/**
 * What the page is doing: `data-state` of its root for styles and tests, an announcement for screen readers, a banner
 * when the server does not respond, a line under the sentence when the text is invalid.
 */

import { setText, update } from "../ui/dom.js";
import { duration, errorText } from "../ui/format.js";
import { hasString, t } from "../ui/i18n.js";

/**
 * @import { Waiting } from "../data/ask.js"
 * @import { ModelTrace } from "../data/model_trace.js"
 */

/** Milliseconds after which pictures that are still old look so. */
const SOON = 200;

/** @param {{root: HTMLElement, voice: HTMLElement, banner: HTMLElement}} parts  of a page */
export function createStatus({ root, voice, banner }) {
  let countdown = 0;
  let slow = 0;

  const notice = (/** @type {string} */ text) => {
    banner.hidden = !text;
    setText(banner, text);
  };

  return {
    /** @returns {any} */
    now: () => root.dataset.state,
    /** @param {"loading"|"ready"|"error"|"empty"} state */
    show(state) {
      if (root.dataset.state === state) return;
      root.dataset.state = state;
      clearTimeout(slow);
      root.toggleAttribute("data-slow", false);
      if (state === "loading") slow = setTimeout(() => root.toggleAttribute("data-slow", true), SOON);
    },
    /** Announces a text to screen readers. @param {string} text */
    say: (text) => setText(voice, text),
    /** A remark that is not an error. @param {string} text */
    notice,
    /** Takes a remark back, if it is still the one that is shown. @param {string} text */
    withdraw(text) {
      if (banner.textContent === text) notice("");
    },
    /** The server does not respond or is full: counts down to the next try. @param {Waiting} waiting */
    waiting(waiting) {
      clearInterval(countdown);
      if (waiting === null) {
        if (banner.dataset.waiting) notice("");
        delete banner.dataset.waiting;
        return;
      }
      banner.dataset.waiting = waiting.code;
      const { ahead } = waiting;
      const key = waiting.code === "unreachable" ? "error.unreachable" : ahead ? "error.full_ahead" : "error.full";
      let left = Math.ceil(waiting.seconds);
      const tell = () => notice(left > 0 ? t(key, { seconds: left, n: ahead ?? 0 }) : t("error.trying"));
      tell();
      countdown = setInterval(() => {
        left = Math.max(0, left - 1);
        tell();
      }, 1000);
    },
    /** The page could not start. @param {Error} error */
    failed(error) {
      clearTimeout(slow);
      root.dataset.state = "error";
      const known = hasString("error.no_start");
      notice(known ? t("error.no_start", { message: error.message }) : `Chumoku could not start: ${error.message}`);
    },
  };
}

/** An error about a field, shown under it. @param {HTMLElement} problem @param {HTMLElement} input @param {Error|null} error */
export function showProblem(problem, input, error) {
  problem.hidden = error === null;
  setText(problem, error ? errorText(error) : "");
  update(input, { "aria-invalid": error ? "true" : null });
}

/** "traced in 38 ms". @param {ModelTrace} trace */
export function tookText(trace) {
  return t("sentence.took", { time: duration(trace.seconds) });
}
