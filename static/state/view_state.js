/**
 * A view's own state (a tab, an order, an axis): declared by the view, kept under its name in `state.own`, and in a
 * link as `view.name=value`. No other code needs to know about it.
 */

/** @import { Field } from "./fields.js" */

/** @typedef {Object<string, Object<string, any>>} OwnValues  by view, then by name; initial values may be missing */
/** @typedef {{view: string, fields: Object<string, Field<any>>}} Declared */

/**
 * @template {Record<string, Field<any>>} F
 * @param {string} view  the id of the view
 * @param {F} fields
 */
export function ownState(view, fields) {
  /** @typedef {{[K in keyof F]: F[K] extends Field<infer T> ? T : never}} Own */
  const initial = /** @type {Own} */ (
    Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, one.initial]))
  );
  return {
    view,
    fields,
    /** What `state` says, or the initial values. @param {{own: OwnValues}} state @returns {Own} */
    of: (state) => ({ ...initial, ...state.own[view] }),
    /** The change that sets these. @param {Partial<Own>} values @returns {{own: OwnValues}} */
    patch: (values) => ({ own: { [view]: values } }),
  };
}

/** `own` with `patch` applied; the same object if nothing changes. @param {OwnValues} own @param {OwnValues} patch @returns {OwnValues} */
export function mergedOwn(own, patch) {
  let merged = own;
  for (const [view, values] of Object.entries(patch)) {
    for (const [name, value] of Object.entries(values)) {
      if (sameValue(merged[view]?.[name], value)) continue;
      merged = { ...merged, [view]: { ...merged[view], [name]: value } };
    }
  }
  return merged;
}

/** Every view's own state as it is at first, with `own` laid over it. @param {Declared[]} declared @param {OwnValues} [own] @returns {OwnValues} */
export const freshOwn = (declared, own = {}) =>
  mergedOwn(
    Object.fromEntries(
      declared.map(({ view, fields }) => [
        view,
        Object.fromEntries(Object.entries(fields).map(([name, { initial }]) => [name, initial])),
      ]),
    ),
    own,
  );

/** The change that resets what belonged to the previous sentence. @param {Declared[]} declared @returns {OwnValues} */
export function anotherSentence(declared) {
  const forgotten = declared.map(({ view, fields }) => {
    const ending = Object.entries(fields).filter(([, field]) => field.until === "sentence");
    return [view, Object.fromEntries(ending.map(([name, field]) => [name, field.initial]))];
  });
  return Object.fromEntries(forgotten);
}

/** Compares by value. @param {any} a @param {any} b */
export function sameValue(a, b) {
  if (typeof a !== "object" || typeof b !== "object") return Object.is(a, b);
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
