/** A head is shown while the pointer rests on it; while one is open, that one. */

/**
 * @import { Board } from "../board.js"
 * @import { Head } from "../layout/head_squares.js"
 */

/** How long the pointer rests on a head before it is shown. Milliseconds. */
const REST = 80;

/** @param {Board} board @param {() => void} repaint */
export function createPreviews(board, repaint) {
  let timer = 0;
  let over = /** @type {Head|null} */ (null);
  /** @param {Head|null} head */
  const show = (head) => {
    if (!board.scene || !board.actions) return;
    board.preview = board.actions.preview(board.scene, head);
    repaint();
  };
  return {
    /** @param {Head|null} head */
    over(head) {
      if (head === over) return;
      over = head;
      clearTimeout(timer);
      if (head) timer = Number(setTimeout(() => show(head), REST));
      else if (board.preview) show(board.shown?.head ?? null);
    },
    /** @param {Head} head */
    open(head) {
      clearTimeout(timer);
      over = null;
      board.actions?.openHead(head);
    },
  };
}
