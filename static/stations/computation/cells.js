/** The elements of the result under the pointer and under the keyboard. */

import { cellAfterKey, nearestCell } from "../../chart/matrix/view.js";
import { placeOf } from "./picture.js";

/** @import { Drawn } from "./picture.js" */

/**
 * @param {Drawn} drawn  the result
 * @param {{label: string, describedBy: string, at: () => [number, number], rows: number, onHover: (cell: [number, number]|null) => void, onChoose: (cell: [number, number]) => void}} options
 */
export function followCells({ frame, box, mat }, { label, describedBy, at, rows, onHover, onChoose }) {
  const under = ({ clientX, clientY }) => {
    const { left, top } = frame.getBoundingClientRect();
    return pair(nearestCell({ x: clientX - left, y: clientY - top }, placeOf(mat, box)));
  };
  frame.tabIndex = 0;
  frame.setAttribute("role", "application");
  frame.setAttribute("aria-label", label);
  frame.setAttribute("aria-describedby", describedBy);
  frame.addEventListener("pointermove", (event) => event.pointerType !== "touch" && onHover(under(event)));
  frame.addEventListener("pointerleave", () => onHover(null));
  frame.addEventListener("click", (event) => onChoose(under(event)));
  frame.addEventListener("keydown", (event) => {
    const [row, col] = at();
    const to = cellAfterKey(event, { row, col }, [rows, mat.matrix.shape[1]]);
    if (!to) return;
    event.preventDefault();
    event.stopPropagation(); // elsewhere the same keys step through the walk
    onChoose(pair(to));
  });
}

/** @returns {[number, number]} */
const pair = ({ row, col }) => [row, col];
