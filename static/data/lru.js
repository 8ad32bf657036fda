/** A small cache that drops the least recently used entry. */

/** @template T @param {number} size */
export function createLru(size) {
  /** @type {Map<string, T>} insertion order = order of last use */
  const entries = new Map();
  return {
    /** @param {string} key @returns {T|undefined} */
    get(key) {
      const value = entries.get(key);
      if (value !== undefined) this.set(key, value);
      return value;
    },
    /** @param {string} key @param {T} value */
    set(key, value) {
      entries.delete(key);
      entries.set(key, value);
      if (entries.size > size) entries.delete(/** @type {string} */ (entries.keys().next().value));
    },
    /** Forget `key`, if it still is `value`. @param {string} key @param {T} value */
    drop(key, value) {
      if (entries.get(key) === value) entries.delete(key);
    },
  };
}
