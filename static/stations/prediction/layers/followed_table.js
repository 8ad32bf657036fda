/** One position through the layers as a table: the final answer's probability and rank, and the most likely answers. */

import { inkOn, rampColour, rgb } from "../../../chart/theme.js";
import { tokenName } from "../../../model/labels.js";
import { h } from "../../../ui/dom.js";
import { integer, percent } from "../../../ui/format.js";
import { t } from "../../../ui/i18n.js";
import { tokenText } from "../../../ui/token_text.js";
import { depthLabels } from "../../depths.js";

/**
 * @import { State } from "../../../state/store.js"
 * @import { Actions } from "../../index.js"
 */

/**
 * @param {any} found  the lens @param {number} at  of `found.rows` @param {State} state
 * @param {Actions|null} actions  null where no logit can be explained
 */
export function tableOf(found, at, state, actions) {
  const labels = depthLabels(found.top.length);
  const columns = [t("lens.column_depth"), t("lens.column_p"), t("lens.column_rank")];
  const head = h(
    "tr",
    null,
    columns.map((name) => h("th", { scope: "col" }, name)),
    h(
      "th",
      { scope: "col", colspan: found.top[0][at].length, class: "left" },
      t("lens.column_top", { n: found.top[0][at].length }),
    ),
  );
  const rows = found.top.map((answers, depth) => {
    const [p, rank] = [found.final.probability[depth][at], found.final.rank[depth][at] + 1];
    const data = { testid: "lens-row", depth, p, rank };
    const chips = answers[at].map((id, i) =>
      h("td", { class: "chip-cell" }, chip(found, depth, at, id, i, state, actions)),
    );
    return h(
      "tr",
      { dataset: data },
      h("th", { scope: "row" }, labels[depth]),
      h("td", null, percent(p, 2)),
      h("td", { class: rank === 1 ? "leads" : null }, integer(rank)),
      chips,
    );
  });
  return h("table", { class: "lens-top" }, h("thead", null, head), h("tbody", null, rows));
}

/** A candidate: a click has the inspector explain its logit. */
function chip(found, depth, at, id, i, state, actions) {
  const p = found.probability[depth][at][i];
  const colour = rampColour("weights", p);
  const final = found.final.ids[at];
  const label = t(actions ? "lens.chip" : "lens.chip_plain", {
    token: tokenName(found.tokens[id]),
    p: percent(p, 2),
    id,
  });
  return h(
    "button",
    {
      class: `lens-chip${id === final ? " final" : ""}`,
      type: "button",
      title: label,
      "aria-label": label,
      "aria-pressed": actions && (state.answer ?? final) === id,
      disabled: !actions,
      style: { background: rgb(colour), color: inkOn(colour) },
      dataset: { id, p, focus: `chip-${depth}-${i}` },
      on: { click: () => actions?.set({ answer: id === final ? null : id }) },
    },
    h("span", { class: "tokname" }, tokenText(found.tokens[id])),
    h("small", null, percent(p, p < 0.0995 ? 1 : 0)),
  );
}
