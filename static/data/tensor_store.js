/** A small cache that drops the least recently used entry. */

/** @import { Decoded, Tensor } from "./wire.js" */

// Named tensors in bags, one bag per run or model: what has arrived or is under way is never requested again. No DOM.

/** @typedef {Map<string, Tensor>} Bag */

/** @type {WeakMap<Bag, Map<string, Promise<void>>>} what is on its way into a bag */
const coming = new WeakMap();

/**
 * The bag called `key`, with all of `names`. Requests only what is missing.
 * @param {ReturnType<typeof import("./tensor_store.js").createLru<Bag>>} bags @param {string} key @param {string[]} names
 * @param {(want: string[]) => Promise<Decoded>} asked
 */
export async function fill(bags, key, names, asked) {
  const bag = bags.get(key) ?? new Map();
  bags.set(key, bag);
  const ways = coming.get(bag) ?? new Map();
  coming.set(bag, ways);
  // What was cancelled is requested again.
  if (names.some((name) => ways.has(name))) await Promise.allSettled(names.map((name) => ways.get(name)));
  const missing = names.filter((name) => !bag.has(name));
  if (!missing.length) return bag;
  const way = asked(missing).then(({ tensors }) =>
    Object.entries(tensors).forEach(([name, tensor]) => bag.set(name, tensor)),
  );
  for (const name of missing) ways.set(name, way);
  try {
    await way;
  } finally {
    for (const name of missing) if (ways.get(name) === way) ways.delete(name);
  }
  return bag;
}

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
