/** The words of a lesson in the page's language: *emphasis*, what was measured in {braces}, and the glossary's words. */

import { h } from "../../ui/dom.js";
import { forPointer, language } from "../../ui/i18n.js";
import { withFormulas } from "../../ui/mathml.js";

/** @template T @param {{en: T, ja: T}} words @returns {T} */
export function said(words) {
  const own = words[language()];
  return typeof own === "string" ? /** @type {any} */ (forPointer(own)) : own;
}

/** @param {string} text @param {Object<string, string|number>} [vars] */
export const filled = (text, vars = {}) =>
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
  const stop = typeof node === "string" && typeof before.at(-1) === "object" && /^[,.:;?!’]s?/.exec(node)?.[0];
  if (!stop) return [...before, node];
  const kept = h("span", { class: "kept" }, before.at(-1), stop);
  return [...before.slice(0, -1), kept, node.slice(stop.length)];
}
