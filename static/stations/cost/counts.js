/**
 * A mechanism's own terms (model/mechanisms/mixer.py) at any number of tokens. No DOM.
 *
 * @typedef {{what: string, of: string[]}} Term  a product; a factor is a whole number or a symbol
 * @typedef {Object<string, number>} Sizes  the symbols that do not depend on T
 * @typedef {{name: string, multiplications: Term[], numbers: Term[], time: string, space: string, steps: string, path: string, skewed?: Term[], naive?: Term[]}} Form  `skewed`: those of
 *   the numbers that the skew of relative positions holds, `naive`: what its formula as it is written would hold in their place
 * @typedef {{own: string|null, sizes: Sizes, forms: Form[]}} Cost
 */

/** Bytes of a float32. */
const FLOAT = 4;
/** Each line's lengths: two for each doubling. */
const FROM = 8;
export const MOST = 16384;

/** @param {string} factor @param {number} n  tokens @param {Sizes} sizes */
export function factorAt(factor, n, sizes) {
  if (/^\d+$/.test(factor)) return Number(factor);
  if (factor === "T") return n;
  if (factor === "2T−1") return 2 * n - 1;
  if (factor !== "near") return sizes[factor];
  const reach = Math.min(sizes.s, n);
  return reach * n - (reach * (reach - 1)) / 2;
}

/** @param {Term[]} terms @param {number} n @param {Sizes} sizes */
export const count = (terms, n, sizes) =>
  terms.reduce((sum, { of }) => sum + of.reduce((product, factor) => product * factorAt(factor, n, sizes), 1), 0);

/** Multiplications, or bytes in float32. @param {Form} form @param {"time"|"space"} what @param {number} n @param {Sizes} sizes */
export const costOf = (form, what, n, sizes) =>
  what === "time" ? count(form.multiplications, n, sizes) : FLOAT * count(form.numbers, n, sizes);

/** The lengths at which a line is drawn. */
export const lengths = () => {
  const steps = 2 * Math.log2(MOST / FROM);
  return Array.from({ length: steps + 1 }, (_, i) => Math.round(FROM * 2 ** (i / 2)));
};

/** Like terms together: "2·T·T·d + 2·T·T·h", largest powers first. @param {Term[]} terms @returns {{n: number, of: string[]}[]} */
export function gathered(terms) {
  /** @type {Map<string, {n: number, of: string[]}>} */
  const found = new Map();
  for (const { of } of terms) {
    const symbols = of.filter((factor) => !/^\d+$/.test(factor));
    const times = of.filter((factor) => /^\d+$/.test(factor)).reduce((product, one) => product * Number(one), 1);
    const known = found.get(symbols.join("·"));
    if (known) known.n += times;
    else found.set(symbols.join("·"), { n: times, of: symbols });
  }
  return [...found.values()];
}
