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

/**
 * The tokens are the text, until its field has the focus: by *edit*, by the Tab key, or by any letter; *Done* ends it, as does leaving
 * the field. While a pointer is down the field stays: what is clicked must not move away under it.
 * @param {{element: HTMLElement, input: HTMLTextAreaElement, edit: HTMLElement, done: HTMLElement}} parts @param {EventTarget} ground
 * @param {() => boolean} replaces  whether a letter replaces the text, as on the start page
 */
export function createEditing({ element, input, edit, done }, ground, replaces) {
  let isDown = false;
  const end = () => element.dataset.lesson !== "shown" && element.classList.remove("editing"); // a lesson shows both
  element.addEventListener("focusin", ({ target }) => {
    if (/** @type {Element} */ (target).matches("textarea")) element.classList.add("editing");
  });
  element.addEventListener("focusout", ({ target, relatedTarget }) => {
    const left = /** @type {Element} */ (target);
    if (!left.matches("textarea") && left !== done) return;
    if (!isDown && relatedTarget !== done) end();
  });
  const finish = () => {
    end();
    edit.focus({ preventScroll: true });
  };
  done.addEventListener("click", finish);
  input.addEventListener("keydown", ({ key, shiftKey, isComposing }) => {
    if (key === "Enter" && !shiftKey && !isComposing) finish();
  });
  addEventListener("pointerdown", () => (isDown = true), true);
  addEventListener("pointerup", () => {
    isDown = false;
    setTimeout(() => !element.querySelector("textarea:focus") && end()); // after the click
  });
  edit.addEventListener("click", () => {
    input.focus();
    input.setSelectionRange(input.value.length, input.value.length);
  });
  ground.addEventListener("keydown", (event) => {
    const { key, target, ctrlKey, metaKey, altKey, defaultPrevented, isComposing } = /** @type {KeyboardEvent} */ (
      event
    );
    const letter = key.length === 1 && /[\p{L}\p{N}]/u.test(key);
    if (!letter || ctrlKey || metaKey || altKey || defaultPrevented || isComposing || input.readOnly || input.hidden)
      return;
    if (target !== document.body) return; // a control may have a use for it
    input.focus();
    input.setSelectionRange(replaces() ? 0 : input.value.length, input.value.length);
  });
}
