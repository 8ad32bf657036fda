/**
 * A view's state (its tab, order, axis): declared by the view, kept under its name in `state.viewState`, and in a
 * link as `view.name=value`. No other code needs to know about it.
 */

/** @import { Field } from "./fields.js" */

/** @typedef {Object<string, Object<string, any>>} ViewStates  by view, then by name; initial values may be missing */
/** @typedef {{view: string, fields: Object<string, Field<any>>}} Declared */

/**
 * @template {Record<string, Field<any>>} F
 * @param {string} view  the id of the view
 * @param {F} fields
 */
export function viewState(view, fields) {
  /** @typedef {{[K in keyof F]: F[K] extends Field<infer T> ? T : never}} Values */
  const initial = /** @type {Values} */ (
    Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, one.initial]))
  );
  return {
    view,
    fields,
    /** The values in `state`, or the initial values. @param {{viewState: ViewStates}} state @returns {Values} */
    of: (state) => ({ ...initial, ...state.viewState[view] }),
    /** The change that sets these. @param {Partial<Values>} values @returns {{viewState: ViewStates}} */
    patch: (values) => ({ viewState: { [view]: values } }),
  };
}

/** `states` with `patch` applied; the same object if nothing changes. @param {ViewStates} states @param {ViewStates} patch @returns {ViewStates} */
export function mergedViewState(states, patch) {
  let merged = states;
  for (const [view, values] of Object.entries(patch)) {
    for (const [name, value] of Object.entries(values)) {
      if (sameValue(merged[view]?.[name], value)) continue;
      merged = { ...merged, [view]: { ...merged[view], [name]: value } };
    }
  }
  return merged;
}

/** Every view's initial state, with `states` applied. @param {Declared[]} declared @param {ViewStates} [states] @returns {ViewStates} */
export const freshViewState = (declared, states = {}) =>
  mergedViewState(
    Object.fromEntries(
      declared.map(({ view, fields }) => [
        view,
        Object.fromEntries(Object.entries(fields).map(([name, { initial }]) => [name, initial])),
      ]),
    ),
    states,
  );

/** The change that resets what belonged to the previous sentence. @param {Declared[]} declared @returns {ViewStates} */
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
