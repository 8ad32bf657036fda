/** The keys of a lesson: those of a slide show and of a clicker, S for the notes, Escape to leave. */

const BY = { ArrowRight: 1, ArrowLeft: -1, PageDown: 1, PageUp: -1 };

/** Where the arrow keys belong to what has the focus. */
const USES_ARROWS =
  "input, textarea, select, canvas, summary, [role=application], [role=slider], [role=tab], [role=gridcell], .strip, .heads-grid";

/**
 * @param {EventTarget} ground @param {() => boolean} isOpen
 * @param {{go: (by: number) => void, leave: () => void, notes: () => void}} on
 */
export function onKeys(ground, isOpen, { go, leave, notes }) {
  ground.addEventListener("keydown", (given) => {
    const event = /** @type {KeyboardEvent} */ (given);
    if (!isOpen() || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing)
      return;
    const at = /** @type {HTMLElement} */ (event.target);
    const field = at.matches?.("input:not([type=range]), textarea, select");
    const by = BY[/** @type {keyof typeof BY} */ (event.key)];
    const arrow = event.key.startsWith("Arrow");
    if (by && !(arrow && at.closest?.(USES_ARROWS))) {
      event.preventDefault();
      go(by);
    } else if (event.key === "Escape" && !field) leave();
    else if (event.key.toLowerCase() === "s" && !field) notes();
  });
}
