/** How keys move the chosen cell. No DOM. */

/** @import { Cell, Shape } from "./view.js" */

/** @type {Object<string, [rows: number, cols: number]>} */
const MOVES = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-10, 0],
  PageDown: [10, 0],
  Home: [0, -Infinity],
  End: [0, Infinity],
};
/** With Shift, an arrow moves by this many columns: an FFN has 1,024. */
const FAR = 16;

/**
 * The cell that a key moves to; null for other keys.
 * @param {{key: string, shiftKey?: boolean, altKey?: boolean, ctrlKey?: boolean, metaKey?: boolean}} event
 * @param {Cell} from @param {Shape} shape
 * @returns {Cell|null}
 */
export function movedBy({ key, shiftKey, altKey, ctrlKey, metaKey }, from, [rows, cols]) {
  const move = MOVES[key];
  if (!move || altKey || ctrlKey || metaKey) return null;
  const far = shiftKey ? FAR : 1;
  const inside = (index, count) => Math.min(count - 1, Math.max(0, index));
  return { row: inside(from.row + move[0], rows), col: inside(from.col + move[1] * far, cols) };
}
