/** The elements of the result under the pointer and under the keyboard. */

/**
 * @param {import("./picture.js").Drawn} drawn  the result
 * @param {{label: string, describedBy: string, at: () => [number, number], rows: number, onHover: (cell: [number, number]|null) => void, onChoose: (cell: [number, number]) => void}} options
 */
export function followCells({ frame, box, mat }, { label, describedBy, at, rows, onHover, onChoose }) {
  const cols = mat.matrix.shape[1];
  const inside = (value, count) => Math.max(0, Math.min(count - 1, value));
  const under = ({ clientX, clientY }) => {
    const { left, top, width, height } = frame.getBoundingClientRect();
    const row = inside(Math.floor(((clientY - top) / height) * box.count), box.count);
    return /** @type {[number, number]} */ ([
      row + box.from,
      inside(Math.floor(((clientX - left) / width) * cols), cols),
    ]);
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
    const page = event.shiftKey ? 16 : 1;
    const to = {
      ArrowUp: [row - 1, col],
      ArrowDown: [row + 1, col],
      ArrowLeft: [row, col - page],
      ArrowRight: [row, col + page],
      Home: [row, 0],
      End: [row, cols - 1],
    }[event.key];
    if (!to || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation(); // the same keys step through the walk elsewhere
    onChoose([inside(to[0], rows), inside(to[1], cols)]);
  });
}
