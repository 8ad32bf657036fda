/** A field whose text is traced as it is typed. */

/** The first keystroke is traced at once; after that, text is traced after a pause this long. */
const PAUSE_MS = 90;

/**
 * From keystrokes to texts worth tracing.
 * @param {HTMLTextAreaElement} input
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
  const typed = (/** @type {Event} */ event) => {
    const idle = event.timeStamp - last > PAUSE_MS * 2;
    last = event.timeStamp;
    clearTimeout(timer);
    timer = 0;
    if (idle) now();
    else timer = setTimeout(now, PAUSE_MS);
  };
  input.addEventListener("input", typed);
  input.addEventListener("change", () => timer && now());
  // A line end can be pasted, or typed with Shift.
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (timer) now();
  });

  return {
    /** Whether the field has text that is not in the state yet. */
    pending: () => timer !== 0,
    /** Text that was typed before the page was ready is kept. @param {string} early */
    takeEarly(early) {
      input.value = early;
      input.focus();
      if (early) queueMicrotask(() => trace(early));
    },
  };
}

/**
 * A field as high as its text, where the browser does not do that by itself (CSS field-sizing).
 * @param {HTMLTextAreaElement} field @returns {() => void} to be called when its text may have changed
 */
export function createGrowing(field) {
  if (CSS.supports("field-sizing", "content")) return () => {};
  let fitted = "";
  const fit = () => {
    const now = `${field.clientWidth} ${field.value}`;
    if (now === fitted) return; // measuring makes the browser lay out the page
    fitted = now;
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight + field.offsetHeight - field.clientHeight}px`;
  };
  field.addEventListener("input", fit);
  return fit;
}
