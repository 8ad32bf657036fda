/** The rows of a stack: which tokens share one, where they are, which have a label. No DOM. */

/**
 * @typedef {{from: number, to: number}} Fold  tokens from … to − 1; one token, or several that share a row
 * @typedef {Fold & {y: number, height: number}} Row
 */

/** Up to this many tokens, each has its own row. */
const ALL_ROWS = 64;
/** A token that passes on less than this, in every layer, may share a row with its neighbours. */
const LITTLE = 0.01;

/**
 * Every token its own row; of a long text, neighbours that hardly count share one.
 * @param {number[]} peaks  the most that passes each token @param {number|null} chosen
 * @param {number[]} [unfolded]  the first tokens of the folds that the reader has opened
 * @returns {Fold[]}
 */
export function foldsOf(peaks, chosen, unfolded = []) {
  const alone = peaks.map((peak, i) => peaks.length <= ALL_ROWS || peak >= LITTLE || i === chosen);
  /** @type {Fold[]} */
  const folds = [];
  for (let from = 0; from < peaks.length; ) {
    let to = from + 1;
    if (!alone[from]) while (to < peaks.length && !alone[to]) to++;
    if (unfolded.includes(from)) for (let i = from; i < to; i++) folds.push({ from: i, to: i + 1 });
    else folds.push({ from, to });
    from = to;
  }
  return folds;
}

/**
 * Rows of equal height from `top` on; the chosen one as much higher as its river is thick.
 * @param {Fold[]} folds @param {{top: number, pitch: number, chosen: number|null, thick: number}} size
 * @returns {Row[]}
 */
export function rowsOf(folds, { top, pitch, chosen, thick }) {
  let y = top;
  return folds.map((fold) => {
    const height = fold.from === chosen && fold.to === chosen + 1 ? Math.max(pitch, thick) : pitch;
    y += height;
    return { ...fold, y: y - height / 2, height };
  });
}

/** For each token the index of its row. @param {Fold[]} folds */
export const rowIndex = (folds) => folds.flatMap(({ from, to }, i) => new Array(to - from).fill(i));

/**
 * The rows whose labels fit: all, or those that count most, the chosen one first.
 * @param {Row[]} rows @param {number[]} peaks @param {number|null} chosen @param {number} apart  between two labels
 * @returns {Set<Row>}
 */
export function labelledRows(rows, peaks, chosen, apart) {
  /** @param {Row} row */
  const counts = ({ from, to }) => (from === chosen ? Infinity : Math.max(...peaks.slice(from, to)));
  /** @type {Row[]} */
  const kept = [];
  for (const row of [...rows].sort((a, b) => counts(b) - counts(a))) {
    if (kept.every(({ y }) => Math.abs(y - row.y) >= apart)) kept.push(row);
  }
  return new Set(kept);
}
