/** Snapshots: a model as it was at steps of its training. Each is a model of its own, named `name@step`. Pure. */

/**
 * @typedef {{model: string, step: number, tokens?: number|null, held_out?: Object<string, number>|null, loss?: number|null,
 *   gradient_norm?: number|null, gradients?: Object<string, number[][]>|null, problem?: string|null}} Snapshot  `gradients`: by stack, [layer][sublayer]
 */

/** The name of the model that a name is a snapshot of; another name stays. @param {string} name */
export const baseOf = (name) => name.replace(/@\d+$/, "");

/** Whether two names are one model at steps of its training. @param {string|null} one @param {string|null} other */
export const sameModel = (one, other) =>
  one === other || (one !== null && other !== null && baseOf(one) === baseOf(other));

/** @param {any} model @returns {Snapshot[]} by step */
export const snapshotsOf = (model) => model?.snapshots ?? [];

/** The place of the open one on the slider; after the last snapshot is the model that ships. @param {any} model */
export function snapshotPlace(model) {
  const found = snapshotsOf(model).findIndex((one) => one.model === model.name);
  return found < 0 ? snapshotsOf(model).length : found;
}

/** The name of the model at a place of the slider. @param {any} model @param {number} place */
export const nameAt = (model, place) => snapshotsOf(model)[place]?.model ?? baseOf(model.name);

/** Its figure on held-out text, with the name of the measure. @param {Snapshot} snapshot @returns {[string, number]|null} */
export const heldOutOf = ({ held_out }) => Object.entries(held_out ?? {})[0] ?? null;

/**
 * Numbers of each layer as one: the norm of a vector whose parts have these norms. @param {number[]} norms
 */
export const together = (norms) => Math.hypot(...norms);
