/**
 * What a value from outside must look like, as functions: each returns the path to the first part that does not fit, or
 * null. No check follows what it does not name, so none can be led astray by depth or size.
 *
 * @typedef {(value: any, at: string) => string|null} Check
 */

/** Characters of a text, and items of a list, where nothing smaller is said. */
const MOST = 1e6;

/** @param {boolean} fits @param {string} at */
const unless = (fits, at) => (fits ? null : at);

/** @param {number} [most] @returns {Check} */
export const text =
  (most = MOST) =>
  (value, at) =>
    unless(typeof value === "string" && value.length <= most, at);

/** @param {number} [low] @param {number} [high] @returns {Check} */
export const whole =
  (low = 0, high = 2 ** 31) =>
  (value, at) =>
    unless(Number.isSafeInteger(value) && value >= low && value <= high, at);

/** Finite. @type {Check} */
export const number = (value, at) => unless(Number.isFinite(value), at);

/** @type {Check} */
export const flag = (value, at) => unless(typeof value === "boolean", at);

/** @param {...(string|number)} words @returns {Check} */
export const oneOf =
  (...words) =>
  (value, at) =>
    unless(words.includes(value), at);

/** @param {Check} check @returns {Check} */
export const orNull = (check) => (value, at) => (value === null ? null : check(value, at));

/** @param {Check} check @param {{least?: number, most?: number}} [bounds] @returns {Check} */
export const list =
  (check, { least = 0, most = MOST } = {}) =>
  (value, at) => {
    if (!Array.isArray(value) || value.length < least || value.length > most) return at;
    return first(value, (item, i) => check(item, `${at}[${i}]`));
  };

/** Any names, each with a value that fits. @param {Check} check @param {number} [most] @returns {Check} */
export const record =
  (check, most = MOST) =>
  (value, at) => {
    if (!isObject(value)) return at;
    const entries = Object.entries(value);
    if (entries.length > most) return at;
    return first(entries, ([name, own]) => (name === "__proto__" ? at : check(own, `${at}.${name.slice(0, 80)}`)));
  };

/**
 * Named values; those that are not named may be anything.
 * @param {Record<string, Check>} needed @param {Record<string, Check>} [optional] @returns {Check}
 */
export const object =
  (needed, optional = {}) =>
  (value, at) => {
    if (!isObject(value)) return at;
    const there = Object.entries(optional).filter(([name]) => value[name] !== undefined);
    return first([...Object.entries(needed), ...there], ([name, check]) => {
      const own = Object.hasOwn(value, name) ? value[name] : undefined;
      return check(own, at ? `${at}.${name}` : name);
    });
  };

/** The named values of an object that fit; the others are left out. @param {Record<string, Check>} fields @param {unknown} value @returns {Record<string, any>} */
export function fitting(fields, value) {
  const own = isObject(value) ? Object.entries(/** @type {object} */ (value)) : [];
  return Object.fromEntries(own.filter(([name, one]) => Object.hasOwn(fields, name) && fields[name](one, "") === null));
}

/** @template T @param {T[]} items @param {(item: T, i: number) => string|null} check */
function first(items, check) {
  for (let i = 0; i < items.length; i++) {
    const misfit = check(items[i], i);
    if (misfit !== null) return misfit;
  }
  return null;
}

/** @param {any} value */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
