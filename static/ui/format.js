/**
 * How the page writes numbers: a real minus sign, commas between thousands (as `Intl.NumberFormat` writes English and
 * Japanese, and as the command line does), a narrow space before a unit, never "-0".
 * Also errors in words, and whether a number agrees with the model's own.
 */

import { h } from "./dom.js";
import { hasString, t } from "./i18n.js";

/** @import { ApiError } from "../data/api.js" */

const MINUS = "\u2212";
const THIN = "\u202f";

/** Fixed digits. @param {number} value @param {number} [digits] @returns {string} */
export function number(value, digits = 4) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : `${MINUS}∞`;
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

/**
 * At least `digits` significant digits, as short as possible; very small and very large numbers as 1.234e−7.
 * @param {number} value @param {number} [digits] @returns {string}
 */
export function significant(value, digits = 4) {
  if (!Number.isFinite(value)) return number(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(digits - 1).replace(/-/g, MINUS);
  const before = size >= 1 ? Math.floor(Math.log10(size)) + 1 : 0;
  return number(value, Math.max(0, digits - before + (size < 1 ? leadingZeros(size) : 0)));
}

/** Millions of pixels, without a unit: below 10 with two digits, "1.5" and "0.25". @param {number} mega @returns {string} */
export const megapixels = (mega) => (mega < 10 ? String(Number(mega.toPrecision(2))) : integer(mega));

/** With its sign: "+0.4123", "−0.0210". @param {number} value @param {number} [digits] @returns {string} */
export function signed(value, digits = 4) {
  const text = number(value, digits);
  return value > 0 && Number(text) !== 0 ? `+${text}` : text;
}

/** Small numbers as 3·10⁻⁷, others with two significant digits. @param {number} value */
export function power(value) {
  const size = Math.abs(value);
  if (size === 0 || size >= 1e-3) return significant(value, 2);
  const [digit, exponent] = value.toExponential(0).split("e");
  const above = [...exponent].map((sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(sign)]));
  return `${digit.replace("-", MINUS)}·10${above.join("")}`;
}

/** A cell narrower than this, in pixels, has no room for four readable characters. */
const FOUR = 37;

/**
 * A weight for a cell: 0.638 → ".64", 1 → "1.00", in a narrow cell "1.0".
 * @param {number} value @param {{w?: number}} [cell] @returns {string}
 */
export function cellWeight(value, { w = Infinity } = {}) {
  const text = number(value, 2).replace(/^0\./, ".");
  return w < FOUR && text === "1.00" ? "1.0" : text;
}

/** 0.4123 → "41.2 %". @param {number} share @param {number} [digits] @returns {string} */
export function percent(share, digits = 1) {
  if (share > 0 && share * 100 < 0.5 * 10 ** -digits) return `<${THIN}${(10 ** -digits).toFixed(digits)}${THIN}%`;
  return `${number(share * 100, digits)}${THIN}%`;
}

/** Whole percents, where they say enough. @param {number} share */
export const briefPercent = (share) => percent(share, briefDigits(share));

/** @param {number} share */
const briefDigits = (share) => ((share > 0 && share < 0.095) || (share > 0.995 && share < 1) ? 1 : 0);

/** The number that `briefPercent` shows. @param {number} share */
export const shownPercent = (share) => Number((100 * share).toFixed(briefDigits(share)));

/** 4076 → "4,076". @param {number} value @returns {string} */
export function integer(value) {
  const text = Math.abs(Math.round(value)).toString();
  return (value < 0 ? MINUS : "") + text.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Seconds → "38 ms" or "1.2 s". @param {number} seconds @returns {string} */
export function duration(seconds) {
  return seconds < 1 ? `${Math.max(1, Math.round(seconds * 1000))}${THIN}ms` : `${seconds.toFixed(1)}${THIN}s`;
}

/** 122880 → "120 KiB". @param {number} bytes @returns {string} */
export function byteSize(bytes) {
  if (bytes < 1024) return `${bytes}${THIN}B`;
  return bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(0)}${THIN}KiB` : `${(bytes / 1024 ** 2).toFixed(1)}${THIN}MiB`;
}

/** 4912384 → "4.9 M": parameters. @param {number} value @returns {string} */
export function millions(value) {
  return value >= 1e6 ? `${(value / 1e6).toFixed(1)}${THIN}M` : integer(value);
}

/** Zeros between the point and the first digit: 0.0012 → 2. @param {number} size */
function leadingZeros(size) {
  return size === 0 ? 0 : Math.max(0, -Math.floor(Math.log10(size)) - 1);
}

/** The tolerance for float32 sums in another order; relative above 1. */
const TOLERANCE = 1e-5;

/** @param {number} ours @param {number} model */
export function agrees(ours, model) {
  return Math.abs(ours - model) <= TOLERANCE * Math.max(1, Math.abs(ours), Math.abs(model));
}

/**
 * "the model's own tensor says 0.6382 ✓", or a warning with the difference.
 * @param {number} ours  recomputed in the browser @param {number} model  from the model's tensor
 * @param {(value: number) => string} [format]  with as many digits as the number beside it
 */
export function checkOf(ours, model, format = significant) {
  return checked(ours, model, checkWords(ours, model, format), t("inspector.tolerance"));
}

/** The same as a mark, where there is little room: ✓ if they agree. @param {number} ours @param {number} model */
export function checkMark(ours, model) {
  const mark = checked(ours, model, agrees(ours, model) ? "✓" : "⚠", checkAbout(ours, model));
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", mark.title); // a title alone is not read aloud
  return mark;
}

/** A number that says so when one points at it; only one that does not agree has a mark. @param {number} ours @param {number} model @param {string} shown */
export const checkedNumber = (ours, model, shown) =>
  checked(ours, model, agrees(ours, model) ? shown : `⚠ ${shown}`, checkAbout(ours, model));

/** @param {number} ours @param {number} model */
const checkAbout = (ours, model) => `${checkWords(ours, model, significant)}. ${t("inspector.tolerance")}`;

/** @param {number} ours @param {number} model @param {(value: number) => string} format */
const checkWords = (ours, model, format) =>
  t(agrees(ours, model) ? "inspector.agrees" : "inspector.differs", {
    value: format(model),
    difference: significant(Math.abs(ours - model), 2),
  });

/** @param {number} ours @param {number} model @param {string} words @param {string} title */
function checked(ours, model, words, title) {
  const ok = agrees(ours, model);
  const data = { testid: "check", ours, model, agrees: ok };
  return h("span", { class: ok ? "check" : "check bad", title, dataset: data }, words);
}

/** What is measured on held-out text. @param {string} name  as on a card */
export const measureName = (name) => (hasString(`watched.measure.${name}`) ? t(`watched.measure.${name}`) : name);

/**
 * An error in the page's language, with its limit and what to do; the server's own text if the catalogue has none.
 * @param {unknown} error  an ApiError, or any other
 */
export function errorText(error) {
  const { code, limit, got, hint, message, known } = /** @type {ApiError} */ (error);
  const key = [`error.${code}.once`, `error.${code}`].find(hasString); // once: nobody tries again by itself
  const sizes = { limit_mb: inMegabytes(limit), got_mb: inMegabytes(got), limit_mega: megapixels(Number(limit)) };
  const files = { limit_size: sizeText(Number(limit)), got_size: sizeText(Number(got)) };
  if (code && key)
    return t(key, { limit: written(limit), got: written(got), known: (known ?? []).join(", "), ...sizes, ...files });
  return [message, hint].filter(Boolean).join(" ");
}

/** A file's size as its owner's page has it: "312 MB", "1.4 GB". @param {number} bytes */
export const sizeText = (bytes) =>
  bytes < 1e9
    ? t("opening.mb", { n: number(bytes / 1e6, bytes < 1e7 ? 1 : 0) })
    : t("opening.gb", { n: number(bytes / 1e9, 1) });

/** @param {unknown} value  bytes; as the server writes them */
const inMegabytes = (value) => Number((Number(value) / 2 ** 20).toPrecision(3));

/** @param {unknown} value  a count, or a name */
function written(value) {
  return typeof value === "number" ? integer(value) : String(value ?? "");
}
