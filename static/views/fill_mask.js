/** A masked language model's answer: the most likely tokens at the chosen place, and a button that hides the token there. */

import { tokenName } from "../model/labels.js";
import { rowOf } from "../model/selection.js";
import { canHide, filled } from "../model/written.js";
import { h, keepingFocus, perRoot, replace, setText, update } from "../ui/dom.js";
import { percent } from "../ui/format.js";
import { phrase, t } from "../ui/i18n.js";
import { namedToken, tokenText, unsureOf } from "../ui/token_text.js";

/**
 * @import { Prediction } from "../data/model_trace.js"
 * @import { Token, VocabularyToken } from "../model/labels.js"
 * @import { Draw } from "./view.js"
 */

/** How many candidates are shown. */
const SHOWN = 10;

const elementsOf = perRoot((root) => {
  const where = h("span", { class: "dim", dataset: { testid: "gap-where" } });
  const stands = h("p", { dataset: { testid: "gap-stands" } });
  const hide = h("button", { type: "button", dataset: { testid: "gap-hide" } }, t("gap.hide"));
  const list = h("ol", { class: "class-bars" });
  const hint = h("p", { class: "dim hint" });
  const title = h("h2", null, h("span", { class: "nowrap" }, t("gap.title")), where);
  replace(root, title, stands, list, hint, hide);
  return { where, stands, hide, list, hint };
});

/** @typedef {Prediction["candidates"][number]} Candidate */

/** @type {Draw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const row = rowOf(state, trace);
  const token = trace.queries.tokens[row];
  const [isGap, isText] = [token.id === trace.model.special.mask, canHide(trace, row)];
  const put = (/** @type {number} */ id) => actions.set(filled(trace, row, id));
  const { candidates, ...prediction } = trace.predictions[row];
  setText(parts.where, t(isText ? "gap.where" : "gap.elsewhere", { row }));
  replace(parts.stands, isText && !isGap ? standsThere(token, candidates) : null);
  keepingFocus(parts.list, () =>
    drawBars(parts.list, isText ? candidates.slice(0, SHOWN) : [], trace.file ? null : put),
  );
  const words = isGap ? "gap.hidden" : "gap.seen";
  replace(parts.hint, isText ? [unsureOf(prediction), h("br"), t(trace.file ? "open.no_take" : words)] : t("gap.none"));
  parts.hide.hidden = !isText || isGap || Boolean(trace.file) || trace.model.special.mask === null;
  parts.hide.onclick = () => put(trace.model.special.mask);
}

/** The token at this place, and the rank and the probability that the model gives it. @param {Token} token @param {Prediction["candidates"]} candidates */
function standsThere(token, candidates) {
  const rank = candidates.findIndex(({ id }) => id === token.id);
  const name = namedToken(token, "q");
  if (rank < 0) return phrase("gap.stands_far", { token: name, n: candidates.length });
  return phrase("gap.stands", { token: name, rank: rank + 1, p: percent(candidates[rank].before) });
}

/** One bar per candidate; a click puts it in the place. @param {HTMLElement} list @param {Prediction["candidates"]} candidates @param {((id: number) => void)|null} put */
function drawBars(list, candidates, put) {
  replace(
    list,
    candidates.map((one, i) => h("li", { class: i === 0 ? "most" : null }, nameOf(one, put), ...barOf(one))),
  );
}

/** @param {Candidate} candidate @param {((id: number) => void)|null} put */
function nameOf(candidate, put) {
  const { id, before } = candidate;
  const words = t("gap.put", { token: tokenName(candidate), p: percent(before, 3) });
  const data = { testid: "gap-candidate", id, before };
  const button = h("button", { type: "button", class: "tok name", dataset: data }, tokenText(candidate));
  update(button, { title: words, "aria-label": words, "aria-disabled": put ? null : "true" });
  button.onclick = put && (() => put(id));
  return button;
}

/** @param {Candidate} candidate */
const barOf = ({ before }) => [
  h("b", { class: "mono" }, percent(before, 1)),
  h("span", { class: "track", "aria-hidden": true }, h("span", { style: { width: `${before * 100}%` } })),
];
