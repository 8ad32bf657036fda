/** A classifier's lens as a table: which classes have a column, and what each is at every depth. No DOM. */

/** Up to this many classes all have a column; of more, only the most probable ones at the end. */
const ALL = 10;
const FIRST = 5;

/**
 * @typedef {{id: number, p: number, listed: boolean}} Cell  not `listed`: less probable than all that are, `p` the least of these
 */

/**
 * In the order of the classes, not of their size.
 * @param {{classes: string[], top: number[][][], probability: number[][][]}} lens  [depth][row][k], best first
 * @returns {{columns: number[], rows: Cell[][]}}
 */
export function classDepths({ classes, top, probability }) {
  const last = /** @type {number[][]} */ (top.at(-1))[0];
  const columns = (classes.length <= ALL ? classes.map((_, id) => id) : last.slice(0, FIRST)).sort((a, b) => a - b);
  const rows = top.map(([ids], depth) => {
    const [listed] = probability[depth];
    return columns.map((id) => {
      const at = ids.indexOf(id);
      return { id, p: listed[at < 0 ? listed.length - 1 : at], listed: at >= 0 };
    });
  });
  return { columns, rows };
}
