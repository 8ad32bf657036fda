/** The words of a lesson in the page's language: *emphasis*, what was measured in {braces}, and the glossary's words. */

import { h } from "../../ui/dom.js";
import { language } from "../../ui/i18n.js";
import { withFormulas } from "../../ui/with_formulas.js";

/** @template T @param {{en: T, ja: T}} words @returns {T} */
export const said = (words) => words[language()];

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
  return pieces.flatMap((piece, i) => {
    const nodes = withFormulas(mark(piece));
    return i % 2 ? [h("b", null, nodes)] : nodes;
  });
}
