/**
 * Which part of a matrix is seen: two stretches of axes, in units of cells. y runs downwards, so it begins with the
 * larger. A view always begins and ends between two cells.
 *
 * @typedef {{x: [number, number], y: [number, number]}} View
 */

/** The whole matrix. @param {[number, number]} shape rows, columns @returns {View} */
export function wholeOf([rows, cols]) {
  return { x: [-0.5, cols - 0.5], y: [rows - 0.5, -0.5] };
}

/** `view` moved to the nearest edges of cells: no number is cut in half. @param {View} view @returns {View} */
export function snapped({ x, y }) {
  const edge = (place) => Math.round(place + 0.5) - 0.5;
  const cells = (from, to) => Math.max(1, Math.round(Math.abs(to - from)));
  const snap = ([from, to]) => stretch(edge(Math.min(from, to)), cells(from, to), from > to);
  return { x: snap(x), y: snap(y) };
}

/**
 * `factor` times as many cells, with the chosen one in the middle, but never more than there are.
 * @param {View} view @param {number} factor @param {{row: number, col: number}} chosen @param {[number, number]} shape
 */
export function zoomed({ x, y }, factor, { row, col }, [rows, cols]) {
  const around = ([from, to], place, count) => {
    const length = Math.min(count, Math.max(3, Math.abs(to - from) * factor));
    return stretch(inside(place - length / 2, length, count), length, from > to);
  };
  return snapped({ x: around(x, col, cols), y: around(y, row, rows) });
}

/** `view` moved as little as it takes to see the chosen cell. @param {View} view */
export function following({ x, y }, { row, col }, [rows, cols]) {
  const follow = ([from, to], place, count) => {
    const [low, length] = [Math.min(from, to), Math.abs(to - from)];
    const start = Math.max(place + 0.5 - length, Math.min(low, place - 0.5));
    return stretch(inside(start, length, count), length, from > to);
  };
  return { x: follow(x, col, cols), y: follow(y, row, rows) };
}

function inside(start, length, count) {
  return Math.min(count - 0.5 - length, Math.max(-0.5, start));
}

/** @returns {[number, number]} */
function stretch(start, length, backwards) {
  return backwards ? [start + length, start] : [start, start + length];
}
