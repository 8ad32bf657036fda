/** The server's models: all of them in short, and the full entry of each when it is first needed. No DOM. */

import { baseOf } from "../model/trainings.js";
import { retrying } from "./ask.js";

/** @import { Waiting } from "./ask.js" */

/** @typedef {ReturnType<typeof createModels>} Models */

/**
 * @param {{default: string, models: any[], problems?: {name: string, reason: string}[]}} listed  /api/models
 * @param {{model: (name: string) => Promise<any>}} api
 */
export function createModels(listed, api) {
  /** @type {Map<string, any>} a line with its description is whole */
  const whole = new Map(listed.models.filter(({ description }) => description).map((line) => [line.name, line]));
  /** @type {Map<string, Promise<any>>} */
  const coming = new Map();

  /** A model's line in the list; a snapshot has that of its model. @param {string|null} name */
  const listedAs = (name) =>
    listed.models.find((line) => line.name === name) ??
    (name && listed.models.find((line) => line.name === baseOf(name)));

  return {
    /** The name of the server's default model. */
    first: listed.default,
    /** The list: names, shapes and cards. */
    list: listed.models,

    /** The models that are unavailable, each with its reason. */
    problems: listed.problems ?? [],

    /** Whether there is a model of this name, as far as the list says. @param {string|null} name */
    has: (name) => Boolean(listedAs(name)),

    /** What has been loaded of a model. @param {string|null} name */
    named: (name) => whole.get(name ?? listed.default),

    /** Everything that has been loaded of a model, or else its line in the list. @param {string|null} name */
    known: (name) => whole.get(name ?? listed.default) ?? (listedAs(name) || undefined),

    /**
     * The full entry of a model, requested once; undefined if the server has no model of this name.
     * @param {string} name @param {(waiting: Waiting) => void} [onWait]
     * @param {number} [tries]  while the server does not respond
     * @returns {Promise<any>}
     */
    async load(name, onWait, tries) {
      const short = listedAs(name);
      if (!short || whole.has(name)) return whole.get(name);
      if (!coming.has(name))
        coming.set(
          name,
          retrying(() => api.model(name), { onWait, tries }),
        );
      try {
        const line = { ...short, ...(await coming.get(name)) };
        if (!whole.has(name)) whole.set(name, line);
        return whole.get(name);
      } finally {
        coming.delete(name); // after a failure, the next call tries again
      }
    },
  };
}
