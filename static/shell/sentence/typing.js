/** A field whose text is traced as it is typed. */

/** A first key is traced at once; while keys keep coming, only a pause this long. */
const PAUSE_MS = 90;

/**
 * From keystrokes to texts worth tracing.
 * @param {HTMLInputElement} input
 * @param {(text: string) => void} trace
 */
export function createTyping(input, trace) {
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
    /** What was typed before the page was here is not thrown away. @param {string} early */
    takeEarly(early) {
      input.value = early;
      input.focus();
      if (early) queueMicrotask(() => trace(early));
    },
  };
}
