/** The data of a picture of lines: which are drawn, which are too thin, and the weights of one token. No DOM. */

/** Weights below this are not drawn, and the picture says so. */
export const THIN = 0.01;

/**
 * @typedef {{name: string, values: Float32Array}} Series  one head, or the mean of several
 * @typedef {{series: number, query: number, key: number, weight: number}} Line
 * @typedef {Object} Weights
 * @property {Series[]} series
 * @property {[number, number]} shape  queries, keys
 * @property {Uint8Array|null} forbidden  not 0: no line, ever
 */

/**
 * The lines to draw, and how many there are in all.
 * @param {Weights} weights @returns {{lines: Line[], count: number}}
 */
export function linesOf({ series, shape: [nQuery, nKey], forbidden }) {
  /** @type {Line[]} */
  const lines = [];
  let count = 0;
  series.forEach(({ values }, index) => {
    for (let query = 0, at = 0; query < nQuery; query++) {
      for (let key = 0; key < nKey; key++, at++) {
        if (forbidden?.[at]) continue;
        count++;
        if (values[at] >= THIN) lines.push({ series: index, query, key, weight: values[at] });
      }
    }
  });
  return { lines, count };
}

/**
 * All allowed weights of one token, largest first: of a query to its keys, or of a key from its queries.
 * @param {Weights} weights @param {number} index  of the series @param {{role: "q"|"k", index: number}} at
 * @returns {{other: number, weight: number}[]}
 */
export function weightsAt({ series, shape: [nQuery, nKey], forbidden }, index, { role, index: token }) {
  const found = [];
  const place = (other) => (role === "q" ? token * nKey + other : other * nKey + token);
  for (let other = 0; other < (role === "q" ? nKey : nQuery); other++) {
    if (!forbidden?.[place(other)]) found.push({ other, weight: series[index].values[place(other)] });
  }
  return found.sort((a, b) => b.weight - a.weight || a.other - b.other);
}

/** The mean of some matrices, cell by cell. @param {Float32Array[]} matrices */
export function meanOf(matrices) {
  const mean = new Float32Array(matrices[0].length);
  for (let i = 0; i < mean.length; i++) {
    let total = 0;
    for (const values of matrices) total += values[i];
    mean[i] = total / matrices.length;
  }
  return mean;
}

/**
 * The same numbers as one matrix, for the table and the CSV; several heads are stacked.
 * @param {Weights} weights @param {string[]} rows @param {string[]} cols
 */
export function asMatrix({ series, shape: [nQuery, nKey], forbidden }, rows, cols) {
  const size = nQuery * nKey;
  const values = new Float32Array(size * series.length);
  const closed = forbidden && new Uint8Array(values.length);
  series.forEach((one, i) => {
    values.set(one.values, i * size);
    if (forbidden) closed?.set(forbidden, i * size);
  });
  const named = series.flatMap(({ name }) => rows.map((label) => (series.length > 1 ? `${label} · ${name}` : label)));
  return {
    values,
    forbidden: closed,
    shape: /** @type {[number, number]} */ ([nQuery * series.length, nKey]),
    rows: named,
    cols,
  };
}
