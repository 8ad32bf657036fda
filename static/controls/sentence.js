/** The sentence bar: what is typed is traced as it is typed; what is wrong with it is said right under it. */

import { keyOf } from "../data/traces.js";
import { setText } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { errorText, tookText } from "./status.js";
import { createStrip } from "./strip.js";

/** A first key is traced at once; while keys keep coming, only a pause this long. */
const PAUSE_MS = 90;

/** @param {HTMLElement} root @param {import("./all.js").Context} context @returns {import("./all.js").Draw} */
export function createSentence(root, { actions, status }) {
  const part = (name) => /** @type {any} */ (root.querySelector(`[data-part="${name}"]`));
  const [input, took, problem] = [part("input"), part("took"), part("problem")];
  const drawStrip = createStrip(part("strip"), actions);
  const typing = createTyping(input, (text) => actions.set({ text, ids: null, nPrompt: null }));
  typing.takeEarly();
  let said = "";

  return (trace, state, error) => {
    const written = state.file !== null || (state.ids && !state.text);
    const text = written && trace ? trace.text : state.text;
    if (!typing.pending() && input.value !== text) input.value = text;
    showProblem(problem, input, error);
    drawStrip(trace, state);
    root.classList.toggle("stale", error !== null || trace?.key !== keyOf(state));
    const shown = trace && !error;
    setText(took, shown ? tookText(trace) : "");
    if (shown && trace.key !== said) {
      said = trace.key;
      const tokens = t("sentence.tokens", { n: trace.tokens.length });
      status.say(t("status.drawn", { tokens, heads: trace.nLayer * trace.nHead }));
      document.body.dataset.traced = trace.key;
    }
  };
}

/** @param {HTMLElement} problem @param {HTMLElement} input @param {Error|null} error */
function showProblem(problem, input, error) {
  problem.hidden = error === null;
  setText(problem, error ? errorText(error) : "");
  if (error) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}

/**
 * From keystrokes to texts worth tracing.
 * @param {HTMLInputElement} input
 * @param {(text: string) => void} trace
 */
function createTyping(input, trace) {
  let timer = 0;
  let last = -Infinity;

  const now = () => {
    clearTimeout(timer);
    timer = 0;
    trace(input.value);
  };
  const typed = (event) => {
    const idle = event.timeStamp - last > PAUSE_MS * 2;
    last = event.timeStamp;
    clearTimeout(timer);
    timer = 0;
    if (idle) now();
    else timer = setTimeout(now, PAUSE_MS);
  };
  input.addEventListener("input", typed);
  input.addEventListener("change", () => timer && now());

  return {
    /** Whether there is text in the field that the state does not know yet. */
    pending: () => timer !== 0,
    /** What was typed before the page was ready (or kept by the browser on reload) is not thrown away. */
    takeEarly() {
      const early = input.value;
      if (early && document.activeElement === input) queueMicrotask(() => trace(early));
    },
  };
}
