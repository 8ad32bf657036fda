/** Results that are computed once. Pure: it only saves time. */

/** @typedef {{objects?: WeakMap<object, Kept>, values?: Map<unknown, Kept>, result?: {value: any}}} Kept */

/** @param {unknown} value @returns {value is object} */
const isObject = (value) => typeof value === "function" || (typeof value === "object" && value !== null);

/** @param {Kept} kept @param {unknown} key @returns {Kept} */
function keptUnder(kept, key) {
  if (isObject(key)) kept.objects ??= new WeakMap();
  else kept.values ??= new Map();
  /** @type {{get: (key: any) => Kept|undefined, set: (key: any, next: Kept) => unknown}} */
  const known = /** @type {any} */ (isObject(key) ? kept.objects : kept.values);
  const found = known.get(key) ?? {};
  known.set(key, found);
  return found;
}

/**
 * A function that runs `compute` once for the same keys and then returns the same result. Objects are compared by
 * identity, everything else by value. The first key is an object, and its results do not outlive it. If `compute` throws,
 * it runs again next time.
 * @template {any[]} Arguments @template Result
 * @param {(...given: Arguments) => Result} compute
 * @param {(...given: Arguments) => [object, ...any[]]} [keysOf]  what the result depends on; by default the arguments
 * @returns {(...given: Arguments) => Result}
 */
export function memo(compute, keysOf = (...given) => /** @type {any} */ (given)) {
  const all = /** @type {Kept} */ ({});
  return (...given) => {
    const kept = keysOf(...given).reduce(keptUnder, all);
    kept.result ??= { value: compute(...given) };
    return kept.result.value;
  };
}
