/** Next word: the answer becomes a row. Write on does it again and again. */

import { keyOf } from "../../data/request.js";
import { taken } from "../../model/take.js";
import { setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";

/**
 * @import { Facts } from "../facts/facts.js"
 * @import { Now } from "../river.js"
 */

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
  let expected = /** @type {string|null} */ (null); // what is shown next, while it writes on
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
