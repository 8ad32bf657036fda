/** One position through the layers: the final answer's probability as bars, and a table. */

import { drawBarPicture } from "../../../chart/bars/bar_picture.js";
import { cssColour } from "../../../chart/theme.js";
import { can } from "../../../model/description.js";
import { tokenName } from "../../../model/labels.js";
import { segment } from "../../../ui/controls.js";
import { h, keepingFocus, perRoot, replace, scrolling, update } from "../../../ui/dom.js";
import { integer, percent } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import { namedToken } from "../../../ui/token_text.js";
import { depthLabels } from "../../depths.js";
import { own } from "../own.js";
import { tableOf } from "./followed_table.js";

/**
 * @import { Bars } from "../../../chart/bars/bar_picture.js"
 * @import { State } from "../../../state/store.js"
 * @import { Actions } from "../../index.js"
 */

const partsOf = perRoot((root) => {
  const axis = segment(t("next.axis"), ["linear", "log"], "lens", (name) => t(`next.axis_${name}`));
  const [title, legend, bars, table] = [h("h2", null), h("span", { class: "legend" }), h("div", null), scrolling("")];
  const hint = h("p", { class: "dim hint" }, t("lens.hint"));
  root.append(
    h("div", { class: "lens-head" }, title, h("span", { class: "grow" }), legend, axis.box),
    bars,
    table,
    hint,
  );
  return { title, legend, bars, table, axis, hint };
});

/**
 * @param {HTMLElement} root @param {any} found  the lens @param {any} trace @param {number} at  of `found.rows`
 * @param {State} state @param {Actions} actions
 */
export function drawFollowed(root, found, trace, at, state, actions) {
  const parts = partsOf(root);
  const { layers_axis: axis } = own.of(state);
  const final = found.tokens[found.final.ids[at]];
  const next = found.next.same[at] ? null : (found.tokens[found.next.ids[at]] ?? null);
  const series = seriesOf(final, next);
  replace(parts.title, h("span", null, phrase("lens.followed", { token: namedToken(final), row: found.rows[at] })));
  replace(
    parts.legend,
    series.map(({ name: words, colour }) => [
      h("span", { class: "swatch plain", style: { background: colour } }),
      h("span", null, words),
    ]),
  );
  parts.axis.show(axis, (name) => actions.set(own.patch({ layers_axis: name })));
  drawBarPicture(
    parts.bars,
    barsOf(found, at, series, { final, next, log: axis === "log", vocab: trace.model.vocab_size }),
  );
  const explains = can(trace.model, "contributions");
  parts.hint.hidden = !explains;
  update(parts.table, { "aria-label": t("lens.table_label", { row: found.rows[at] }) });
  keepingFocus(parts.table, () => replace(parts.table, tableOf(found, at, state, explains ? actions : null)));
}

/** The model's answer, and the actual next token if it differs. */
function seriesOf(final, next) {
  const answer = { name: t("lens.series_final", { token: tokenName(final) }), colour: cssColour("--bar-solid") };
  return next
    ? [answer, { name: t("lens.series_next", { token: tokenName(next) }), colour: cssColour("--bar-pale") }]
    : [answer];
}

/**
 * @param {any} found  the lens @param {number} at  of its rows @param {{name: string, colour: string}[]} series
 * @param {{final: any, next: any, log: boolean, vocab: number}} about
 * @returns {Bars}
 */
function barsOf(found, at, series, { final, next, log, vocab }) {
  const labels = depthLabels(found.top.length);
  const value = (who, depth) => found[who].probability[depth][at];
  const words = (token, who, depth) =>
    t("lens.bar", {
      depth: labels[depth],
      token: tokenName(token),
      p: percent(value(who, depth), 3),
      rank: integer(found[who].rank[depth][at] + 1),
      n: integer(vocab),
    });
  return {
    label: t("lens.bars_label", { token: tokenName(final), row: found.rows[at] }),
    rows: labels.map((label, depth) => ({
      label,
      hover: words(final, "final", depth) + (next ? ` · ${words(next, "next", depth)}` : ""),
      values: [value("final", depth), next ? value("next", depth) : 0],
      marked: false,
    })),
    series,
    log,
    onChoose: () => {},
    filename: `chumoku-lens-${found.rows[at]}`,
  };
}
