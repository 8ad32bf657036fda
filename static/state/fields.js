/** How values are written in a link. A value that cannot be read is `undefined` and is left out. */

/**
 * @template T
 * @typedef {Object} Field
 * @property {T} initial  left out of a link
 * @property {(text: string) => T|undefined} read
 * @property {(value: any) => string} write
 * @property {true} [typed]  text that a person typed, which comes after the `#` (link.js)
 * @property {true} [unlinked]  a link may bring it, and none is written with it
 * @property {"sentence"} [until]  back to `initial` when another sentence or model is opened
 */

/** @param {string} text */
const readIndex = (text) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined);

/** Numbers joined with "." or ",". @param {string} text */
function readIds(text) {
  const ids = text.split(/[.,]/).filter(Boolean).map(readIndex);
  return ids.length && !ids.includes(undefined) ? /** @type {number[]} */ (ids) : undefined;
}

/** @param {string} text @returns {boolean|undefined} */
const readSwitch = (text) => /** @type {any} */ ({ on: true, off: false, 1: true, 0: false })[text];

/** @param {number[]} ids */
const joined = (ids) => ids.join(".");

/** @template {string|null} [T=string|null] @param {T} initial @returns {Field<T|string>} */
export const text = (initial) => ({ initial, read: String, write: String });

/** What a person typed. @template {string|null} T @param {T} initial @returns {Field<T|string>} */
export const typed = (initial) => ({ ...text(initial), typed: true });

/** A whole number from 0 on. @template {number|null} T @param {T} initial @returns {Field<T|number>} */
export const index = (initial) => ({ initial, read: readIndex, write: String });

/** @param {number} initial @param {number} low @param {number} high @returns {Field<number>} */
export const decimal = (initial, low, high) => ({
  initial,
  read: (text) => (text.trim() && Number(text) >= low && Number(text) <= high ? Number(text) : undefined),
  write: String,
});

/** A whole number within bounds. @param {number} initial @param {number} low @param {number} high @returns {Field<number>} */
export const whole = (initial, low, high) => ({
  initial,
  read(text) {
    const value = readIndex(text);
    return value !== undefined && value >= low && value <= high ? value : undefined;
  },
  write: String,
});

/** One of some words; the first is the default. @template {string} T @param {...T} words @returns {Field<T>} */
export const choice = (...words) => ({
  initial: words[0],
  read: (text) => words.find((word) => word === text),
  write: String,
});

/** @param {boolean} initial @returns {Field<boolean>} */
export const onOff = (initial) => ({ initial, read: readSwitch, write: (on) => (on ? "on" : "off") });

/** A JSON object. @returns {Field<Object<string, any>|null>} */
export const object = () => ({
  initial: null,
  read(text) {
    const value = parsed(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  },
  write: JSON.stringify,
});

/** @param {string} json @returns {unknown} undefined if it is not JSON */
function parsed(json) {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** A list in JSON, of what `isOne`. @template T @param {(value: any) => value is T} isOne @returns {Field<T[]>} */
export const list = (isOne) => ({
  initial: [],
  read(text) {
    const value = parsed(text);
    return Array.isArray(value) ? value.filter(isOne) : undefined;
  },
  write: JSON.stringify,
});

/** Two indices. @returns {Field<number[]|null>} */
export const pair = () => ({
  initial: null,
  read(text) {
    const two = readIds(text);
    return two?.length === 2 ? two : undefined;
  },
  write: joined,
});

/** Distinct indices in ascending order, or one of some words. @template {string} T @param {...T} words @returns {Field<null|T|number[]>} */
export const indices = (...words) => ({
  initial: null,
  read(text) {
    const word = words.find((one) => one === text);
    return (
      word ??
      readIds(text)
        ?.filter((id, i, all) => all.indexOf(id) === i)
        .sort((a, b) => a - b)
    );
  },
  write: (value) => (Array.isArray(value) ? joined(value) : value),
});
