/** From a step of a lesson to the state of the page. */

import { freshOwn, mergedOwn } from "../../state/own.js";
import { DEFAULTS } from "../../state/store.js";
import { STATIONS } from "../stations.js";

/**
 * @import { Lesson, Option, Step } from "../../data/lessons.js"
 * @import { Declared } from "../../state/own.js"
 * @import { Patch } from "../../state/store.js"
 */

/** Its steps, and its end. @param {Lesson} lesson @returns {Step[]} */
export const stepsOf = ({ steps, closing }) => (closing ? [...steps, closing] : steps);

/** What a step leaves to the reader. */
const READERS = ["theme", "type", "lang", "file"];

/**
 * The change that opens a step, whatever was open before.
 * @param {Step} step @param {{lesson: string, n: number, declared: Declared[]}} place
 * @returns {Patch}
 */
export function patchOf(step, { lesson, n, declared }) {
  const { station, own = {}, ...open } = step.open;
  const fresh = Object.fromEntries(Object.entries(DEFAULTS).filter(([name]) => !READERS.includes(name)));
  const opened = STATIONS[station] ?? {};
  const river = step.show.includes("river") ? {} : { river: { shown: false } };
  const asked = [opened.own ?? {}, river, own].reduce(mergedOwn, {});
  const place = { lesson, lessonStep: n };
  return { ...fresh, level: "everything", ...opened, ...open, ...place, own: freshOwn(declared, asked) };
}

/** Whether a measured value makes an option right. @param {Option[]} options @param {number|string} value @returns {number} its index; -1: none */
export function rightOf(options, value) {
  if (typeof value === "string") return options.findIndex(({ is }) => is === value);
  return options.findIndex(({ below = Infinity }) => value < below);
}
