/**
 * What changed between two runs, in numbers: heads, leaks, the next token; and a padded run compared with the single
 * run.
 */

import { compared, isCompared, whyNot } from "../../model/compare/runs.js";
import { predictsTokens } from "../../model/description.js";
import { runWords } from "../../ui/compare_words.js";
import { h, keepingFocus, perRoot, replace, setText } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { drawChangedClasses } from "./classes.js";
import { drawChangedHeads } from "./heads.js";
import { drawLeaks } from "./leaks.js";
import { drawNext } from "./next.js";
import { verdictOf } from "./verdict.js";

const partsOf = perRoot((root) => {
  const where = h("span", { class: "dim" });
  const verdict = h("p", { class: "verdict", role: "status", dataset: { testid: "verdict" } });
  const part = (name) => h("section", { class: `change-${name}` });
  const parts = { heads: part("heads"), leaks: part("leaks"), next: part("next") };
  const title = h("h2", null, h("span", { class: "nowrap" }, t("compare.title")), where);
  replace(root, title, verdict, h("div", { class: "changes" }, Object.values(parts)));
  return { where, verdict, ...parts };
});

export default {
  id: "change",
  frame: { place: "below", className: "panel compare", title: "compare.title" },
  roles: ["overview"],
  hides: true,
  needs: (state, model) => {
    if (!isCompared(state, model)) return [];
    return predictsTokens(model) ? ["detail", "other", "prediction", "change"] : ["detail", "other", "change"];
  },
  draw(root, trace, state, actions) {
    const panel = /** @type {HTMLElement} */ (root.parentElement);
    panel.hidden = !state.compare;
    if (panel.hidden) return;
    const parts = partsOf(root);
    const { before, after } = compared(state, trace.model);
    setText(
      parts.where,
      t("masks.compare_about", { before: runWords(before, trace.model), after: runWords(after, trace.model) }),
    );
    const reason = whyNot(state, trace.model);
    for (const part of [parts.heads, parts.leaks, parts.next]) part.hidden = reason !== null;
    parts.verdict.hidden = reason === null;
    if (reason) return setText(parts.verdict, t(`compare.reason.${reason}`));
    const verdict = verdictOf(trace, state);
    parts.verdict.hidden = verdict === null;
    if (verdict) {
      setText(parts.verdict, verdict.text);
      parts.verdict.classList.toggle("differs", !verdict.equal);
      Object.assign(parts.verdict.dataset, { weights: verdict.weights, next: verdict.next ?? "" });
    }
    keepingFocus(root, () => {
      drawChangedHeads(parts.heads, trace, state, actions);
      drawLeaks(parts.leaks, trace, state, actions);
      if (predictsTokens(trace.model)) drawNext(parts.next, trace, state);
      else drawChangedClasses(parts.next, trace);
    });
  },
};
