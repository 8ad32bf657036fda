/**
 * A mechanism's own terms (model/mechanisms/mixer.py) at any number of tokens. No DOM.
 *
 * @typedef {{what: string, of: string[]}} Term  a product; a factor is a whole number or a symbol
 * @typedef {Object<string, number>} Sizes  the symbols that do not depend on T
 * @typedef {{name: string, multiplications: Term[], numbers: Term[], time: string, space: string, steps: string, path: string, skewed?: Term[], naive?: Term[]}} Form  `skewed`: those of
 *   the numbers that the skew of relative positions holds, `naive`: what its formula as it is written would hold in their place
 * @typedef {{own: string|null, sizes: Sizes, forms: Form[]}} Cost
 */

import { integer, significant } from "../../ui/format.js";
import { hasString, t } from "../../ui/i18n.js";

/** Bytes of a float32. */
const FLOAT = 4;
/** Each line's lengths: two for each doubling. */
const FROM = 8;
export const LARGEST_COUNT = 16384;

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
  const steps = 2 * Math.log2(LARGEST_COUNT / FROM);
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

// A cost in words: its terms, its order of growth, its unit.

/** A mechanism's name. @param {string} name */
export const formName = (name) => (hasString(`cost.form.${name}`) ? t(`cost.form.${name}`) : name);

/** A term's name. @param {string} what */
export const termName = (what) => (hasString(`cost.term.${what}`) ? t(`cost.term.${what}`) : what);

/** "T²d": equal factors together. @param {string[]} of */
export function product(of) {
  const times = of.map((factor, i) => of.slice(0, i + 1).filter((one) => one === factor).length);
  const last = of.filter((factor, i) => !of.slice(i + 1).includes(factor));
  return last
    .map((factor) => {
      const n = Math.max(...times.filter((_, i) => of[i] === factor));
      const name = factor === "2T−1" ? "(2T − 1)" : factor === "near" ? t("cost.near") : factor;
      return n > 1 ? `${name}${"⁰¹²³⁴"[n]}` : name;
    })
    .join("·");
}

/** "2 T²·d + 2 T²·h". @param {Term[]} terms */
export const costFormula = (terms) =>
  gathered(terms)
    .map(({ n, of }) => (n > 1 ? `${n}·${product(of)}` : product(of)))
    .join(" + ");

/** The same with numbers. @param {Term[]} terms @param {number} n @param {Sizes} sizes */
export const filledOf = (terms, n, sizes) =>
  gathered(terms)
    .map(({ n: times, of }) => {
      const factors = of.map((factor) => integer(factorAt(factor, n, sizes)));
      return (times > 1 ? [String(times), ...factors] : factors).join("·");
    })
    .join(" + ");

/** 400,000,000 → "400 MB". @param {number} bytes */
export function megabytes(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const at = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${significant(bytes / 1000 ** at, 3)}\u202f${units[at]}`;
}

/** 0.0012 → "1.20 ms". @param {number} seconds */
export const millis = (seconds) =>
  seconds < 1 ? `${significant(seconds * 1000, 3)}\u202fms` : `${significant(seconds, 3)}\u202fs`;

/** 10⁶, of a power of ten. @param {number} value */
export function tenTo(value) {
  const exponent = [...String(Math.round(Math.log10(value)))];
  return `10${exponent.map((sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(sign)])).join("")}`;
}
