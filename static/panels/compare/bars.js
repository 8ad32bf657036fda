/** Tokens with two bars each: their probability before, and after. */

import { tokenName } from "../../model/labels.js";
import { h } from "../../ui/dom.js";
import { percent } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { tokenText } from "../../ui/token_text.js";

/**
 * @param {{id: number, token: any, before: number, after: number}[]} candidates
 * @param {number} chosen @param {(id: number) => void} choose
 */
export function pairOfBars(candidates, chosen, choose) {
  const full = Math.max(...candidates.flatMap(({ before, after }) => [before, after]));
  const head = h(
    "div",
    { class: "dist-head" },
    h("span"),
    h("span"),
    h("span", { class: "is-before" }, t("matrix.before")),
    h("span", { class: "is-after" }, t("matrix.after")),
  );
  const items = candidates.map((candidate) => h("li", null, rowOf(candidate, full, candidate.id === chosen, choose)));
  return h("div", { class: "dist two" }, head, h("ol", null, items));
}

function rowOf({ id, token, before, after }, full, isChosen, choose) {
  const label = t("compare.choose", { token: tokenName(token), before: percent(before, 3), after: percent(after, 3) });
  const bar = (name, share) => h("span", { class: `bar-${name}`, style: { width: `${(share / full) * 100}%` } });
  return h(
    "button",
    {
      class: "cand",
      type: "button",
      title: label,
      "aria-label": label,
      "aria-pressed": isChosen,
      dataset: { testid: "moved-candidate", focus: `candidate ${id}`, id, before, after },
      on: { click: () => choose(id) },
    },
    h("span", { class: "tokname" }, tokenText(token)),
    h("span", { class: "track", "aria-hidden": true }, bar("before", before), bar("after", after)),
    h("span", { class: "mono is-before" }, percent(before)),
    h("span", { class: "mono is-after" }, percent(after)),
  );
}
