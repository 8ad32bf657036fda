/** Named tensors in bags, one bag per run or model: what has arrived or is under way is never requested again. No DOM. */

/** @import { Decoded, Tensor } from "./wire.js" */

/** @typedef {Map<string, Tensor>} Bag */

/** @type {WeakMap<Bag, Map<string, Promise<void>>>} what is on its way into a bag */
const coming = new WeakMap();

/**
 * The bag called `key`, with all of `names`. Requests only what is missing.
 * @param {ReturnType<typeof import("./lru.js").createLru<Bag>>} bags @param {string} key @param {string[]} names
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
