/** From a step of a lesson to the state of the page. */

import { DEFAULTS } from "../../state/store.js";
import { freshViewState, mergedViewState } from "../../state/view_state.js";
import { h } from "../../ui/dom.js";
import { forPointer, forTheme, language } from "../../ui/i18n.js";
import { withFormulas } from "../../ui/mathml.js";
import { keepInMind, remembered } from "../../ui/remembered.js";
import { STATION_STATES } from "../glossary/glossary.js";

/**
 * @import { Lesson, Option, Step } from "../../data/lessons.js"
 * @import { Declared } from "../../state/view_state.js"
 * @import { Patch } from "../../state/store.js"
 */

// The words of a lesson in the page's language: *emphasis*, what was measured in {braces}, and the glossary's words.

/** @template T @param {{en: T, ja: T}} words @returns {T} */
export function said(words) {
  const own = words[language()];
  return /** @type {any} */ (Array.isArray(own) ? own.map(asRead) : typeof own === "string" ? asRead(own) : own);
}

/** For this pointer and theme; a number and what it counts stay on one line ("1 つ"). @param {string} text */
const asRead = (text) => forTheme(forPointer(text)).replace(/(\d) (?=[\p{Script=Han}つ])/gu, "$1\u00a0");

/** @param {string} text @param {Object<string, string|number>} [vars] */
export const withMeasured = (text, vars = {}) =>
  text.replace(/\{(\w+)\}/g, (whole, name) => (name in vars ? String(vars[name]) : whole));

/**
 * A text as nodes.
 * @param {string} text @param {(text: string) => (Node|string)[]} [mark]  marks words in a piece of it
 * @returns {(Node|string)[]}
 */
export function nodesOf(text, mark = (piece) => [piece]) {
  const pieces = text.split(/\*([^*]+)\*/);
  const nodes = pieces.flatMap((piece, i) => {
    const own = withFormulas(mark(piece));
    return i % 2 ? [h("b", null, own)] : own;
  });
  return nodes.reduce(withStop, /** @type {(Node|string)[]} */ ([]));
}

/** A line may break after a button: its comma stays with it. @param {(Node|string)[]} before @param {Node|string} node */
function withStop(before, node) {
  const stop =
    typeof node === "string" && typeof before.at(-1) === "object" && /^[,.:;?!’、。：；？！）」]s?/.exec(node)?.[0];
  if (!stop) return [...before, node];
  const kept = h("span", { class: "kept" }, before.at(-1), stop);
  return [...before.slice(0, -1), kept, node.slice(stop.length)];
}

// How far the reader of this browser has come in a lesson.

/** The step to go on with, from 1, and whether its end was reached once. @param {string} id  of a lesson */
export function progressIn(id) {
  const [step, done] = (remembered(`lesson.${id}`) ?? "").split(" ");
  return { step: Number(step) || 1, done: done === "done" };
}

/** After the last of `of` steps it begins again. @param {string} id @param {number} step @param {number} of */
export function keepProgress(id, step, of) {
  const ended = step > of;
  keepInMind(`lesson.${id}`, `${ended ? 1 : step}${ended || progressIn(id).done ? " done" : ""}`);
}

/** Its steps, and its end. @param {Lesson} lesson @returns {Step[]} */
export const lessonSteps = ({ steps, closing }) => (closing ? [...steps, closing] : steps);

/** What a lesson shows of an open head; without a station it is the attention. */
const OF_HEAD = ["station", "inspector", "heads"];

/** What a step leaves to the reader. */
const READERS = ["theme", "type", "lang", "file"];

/**
 * The change that opens a step, whatever was open before.
 * @param {Step} step @param {{lesson: string, n: number, declared: Declared[]}} place
 * @returns {Patch}
 */
export function stepPatch(step, { lesson, n, declared }) {
  const { station, viewState = {}, ...open } = step.open;
  const fresh = Object.fromEntries(Object.entries(DEFAULTS).filter(([name]) => !READERS.includes(name)));
  const opened = STATION_STATES[station] ?? {};
  const river = step.show.includes("river") ? {} : { river: { shown: false } };
  const asked = [opened.viewState ?? {}, river, viewState].reduce(mergedViewState, {});
  const place = { lesson, lessonStep: n };
  const view = step.show.some((name) => OF_HEAD.includes(name)) ? { view: "attention" } : {};
  return { ...fresh, ...view, ...opened, ...open, ...place, viewState: freshViewState(declared, asked) };
}

/** Whether a measured value makes an option right. @param {Option[]} options @param {number|string} value @returns {number} its index; -1: none */
export function rightOf(options, value) {
  if (typeof value === "string") return options.findIndex(({ is }) => is === value);
  return options.findIndex(({ below = Infinity }) => value < below);
}
