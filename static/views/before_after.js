/** One head twice: before, under the causal mask that the model was trained with, and after it is taken away. */

import { h, perRoot, replace } from "../lib/dom.js";
import { percent, significant } from "../lib/format.js";
import { phrase, t } from "../lib/i18n.js";
import { position } from "../selectors.js";
import { drawWeights, labelsOf } from "./query_key.js";

const partsOf = perRoot((root) => {
  const side = (name) => {
    const place = h("div", null);
    const words = [h("b", null, t(`matrix.${name}`)), " ", h("span", { class: "dim" }, t(`matrix.${name}_about`))];
    return { place, element: h("section", { class: "side" }, h("h2", null, words), place) };
  };
  const [before, after] = [side("before"), side("after")];
  const change = h("p", { class: "change", "aria-live": "polite", dataset: { testid: "change" } });
  root.append(change, h("div", { class: "pair" }, before.element, after.element));
  return { before: before.place, after: after.place, change };
});

/**
 * @param {HTMLElement} root
 * @param {import("../data/model_trace.js").ModelTrace} trace  with `detail` and `other`
 * @param {import("../state.js").State} state
 * @param {import("./index.js").Actions} actions
 */
export function drawBoth(root, trace, state, actions) {
  const parts = partsOf(root);
  const [before, after] = trace.detail.causal ? [trace.detail, trace.other] : [trace.other, trace.detail];
  replace(parts.change, ...changeOf(before, after, labelsOf(trace.tokens), position(state, trace).query));
  const title = (name) => `${t("matrix.weights")}, ${t(`matrix.${name}`)}`;
  drawWeights(parts.before, trace, state, actions, { id: "before", title: title("before"), detail: before });
  drawWeights(parts.after, trace, state, actions, { id: "after", title: title("after"), detail: after });
}

/** What changed most for one query, in a sentence. */
function changeOf(before, after, tokens, query) {
  const n = tokens.length;
  const row = ({ data }) => data.subarray(query * n, (query + 1) * n);
  const [from, to, reasons] = [row(before.pattern), row(after.pattern), row(before.mask)];
  const gained = to.map((weight, key) => weight - from[key]);
  const token = (key, role) => h("b", { class: `${role} mono` }, tokens[key]);
  const parts = { query: token(query, "q"), row: query };
  const most = indexOfMost(gained.map(Math.abs));
  if (Math.abs(gained[most]) < 1e-6) return phrase("matrix.change.none", parts);
  const loser = indexOfMost(gained.map((gain) => -gain));
  const fall = { loser: token(loser, "k"), was: value(from[loser]), is: value(to[loser]) };
  const winner = indexOfMost(gained);
  const had = reasons[winner] ? h("b", null, t("matrix.forbidden_word")) : value(from[winner]);
  const rise = { winner: token(winner, "k"), had, has: value(to[winner]) };
  const leak = to.reduce((sum, weight, key) => sum + (reasons[key] ? weight : 0), 0);
  if (!reasons.some(Boolean)) return phrase("matrix.change.below", { ...parts, ...fall, ...rise });
  return phrase("matrix.change.leak", { ...parts, ...fall, ...rise, leak: value(percent(leak)) });
}

function value(number) {
  return h("b", { class: "mono" }, typeof number === "number" ? significant(number) : number);
}

function indexOfMost(values) {
  return values.reduce((best, value, i) => (value > values[best] ? i : best), 0);
}
