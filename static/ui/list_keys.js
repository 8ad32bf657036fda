/** Moving through a list of buttons by keyboard. */

/**
 * To the button before or after the one with the focus; Home and End to the ends: a listener of the list's keydown.
 * @param {KeyboardEvent} event @param {string} before  a key @param {string} after
 */
export function walkList(event, before, after) {
  const list = /** @type {Element} */ (event.currentTarget);
  const buttons = [...list.querySelectorAll("button")];
  const at = buttons.indexOf(/** @type {any} */ (event.target));
  const to = { [before]: at - 1, [after]: at + 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (to === undefined || at < 0 || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  buttons[to]?.focus();
}
