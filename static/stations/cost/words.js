/** A cost in words: its terms, its order of growth, its unit. */

import { integer, significant } from "../../ui/format.js";
import { hasString, t } from "../../ui/i18n.js";
import { factorAt, gathered } from "./counts.js";

/** @import { Sizes, Term } from "./counts.js" */

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
export const formulaOf = (terms) =>
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
