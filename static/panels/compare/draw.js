/**
 * What changed between two runs, in numbers: heads, leaks, the next token; and a padded run compared with the single
 * run.
 */

import { changesOf } from "../../model/compare/heads.js";
import { comparable, compared, hasLogits, hasWeights } from "../../model/compare/runs.js";
import { predictsTokens } from "../../model/description.js";
import { runWords, whyWords } from "../../ui/compare_words.js";
import { h, keepingFocus, perRoot, replace, setText } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { keyFor, t } from "../../ui/i18n.js";
import { drawChangedClasses } from "./classes.js";
import { drawChangedHeads } from "./heads.js";
import { drawLeaks } from "./leaks.js";
import { drawNext } from "./next.js";
import { verdictOf } from "./verdict.js";

/** @import { ModelTrace } from "../../data/model_trace.js" */

const partsOf = perRoot((root) => {
  const where = h("span", { class: "dim" });
  const verdict = h("p", { class: "verdict", role: "status", dataset: { testid: "verdict" } });
  const part = (name) => h("section", { class: `compare-${name}` });
  const parts = { heads: part("heads"), leaks: part("leaks"), next: part("next") };
  const title = h("h2", null, h("span", { class: "nowrap" }, t("compare.title")), where);
  replace(root, title, verdict, h("div", { class: "compare-parts" }, Object.values(parts)));
  return { where, verdict, ...parts };
});

export function draw(root, trace, state, actions) {
  const parts = partsOf(root);
  const { before, after } = compared(state, trace.model);
  setText(
    parts.where,
    t("masks.compare_about", { before: runWords(before, trace.model), after: runWords(after, trace.model) }),
  );
  const { pairs, reason } = comparable(state, trace.model);
  if (reason) drawVerdict(parts.verdict, { text: whyWords(pairs, reason, trace.model), equal: true });
  else drawVerdict(parts.verdict, verdictOf(trace, state));
  parts.heads.hidden = !pairs.some(({ what }) => what === "weights");
  parts.leaks.hidden = !hasWeights(pairs, state, trace.model);
  parts.next.hidden = !hasLogits(pairs);
  keepingFocus(root, () => {
    const changes = changesOf(trace);
    if (!parts.heads.hidden && changes) drawChangedHeads(parts.heads, changes, trace, state, actions);
    else if (!parts.heads.hidden) say(parts.heads, "compare.heads", waitsFor(trace));
    if (!parts.leaks.hidden) drawLeaks(parts.leaks, trace, state, actions);
    if (parts.next.hidden) return;
    if (!trace.compared.after.logits) say(parts.next, "compare.next", t("compare.too_long"));
    else if (predictsTokens(trace.model)) drawNext(parts.next, trace, state, actions);
    else if (trace.classes) drawChangedClasses(parts.next, trace);
    else replace(parts.next);
  });
}

/** In the place of numbers. @param {HTMLElement} root @param {string} title @param {string} text */
function say(root, title, text) {
  replace(root, h("h3", null, t(title)), h("p", { class: "dim", dataset: { testid: "left-out" } }, text));
}

/** Of a long text, the server measures all heads, layer by layer. @param {ModelTrace} trace */
function waitsFor({ explained: { changes }, model }) {
  return changes?.refused ? errorText(changes.refused) : t(keyFor(model, "compare.heads_wait"));
}

/** @param {HTMLElement} node @param {{text: string, equal: boolean, weights?: number, next?: number|null}|null} verdict  null: nothing to say */
function drawVerdict(node, verdict) {
  node.hidden = verdict === null;
  if (!verdict) return;
  setText(node, verdict.text);
  node.classList.toggle("differs", !verdict.equal);
  Object.assign(node.dataset, { weights: verdict.weights ?? "", next: verdict.next ?? "" });
}
