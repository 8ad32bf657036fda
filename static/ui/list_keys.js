/** Moving through a list of buttons by keyboard. */

/** Up and down among the buttons in `list`, Home and End to its ends: a listener of its keydown. @param {Element} list @param {KeyboardEvent} event */
export function walkList(list, event) {
  const buttons = [...list.querySelectorAll("button")];
  const at = buttons.indexOf(/** @type {any} */ (event.target));
  const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  buttons[to]?.focus();
}
