/** One position through the layers: the final answer's probability as bars, and a table. */

import { drawBarPicture } from "../../../chart/bars/bar_picture.js";
import { cssColour, inkOn, rampColour, rgb } from "../../../chart/theme.js";
import { can } from "../../../model/description.js";
import { tokenName } from "../../../model/labels.js";
import { segment } from "../../../ui/controls.js";
import { h, keepingFocus, perRoot, replace, scrolling, update } from "../../../ui/dom.js";
import { integer, percent } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import { namedToken, offeredText } from "../../../ui/token_text.js";
import { depthLabels } from "../../parts.js";
import { predictionState } from "../../view_states.js";

/**
 * @import { Bars } from "../../../chart/bars/bar_picture.js"
 * @import { ModelTrace } from "../../../data/model_trace.js"
 * @import { VocabularyToken } from "../../../model/labels.js"
 * @import { State } from "../../../state/store.js"
 * @import { Actions } from "../../view.js"
 * @import { Lens } from "./draw.js"
 */

// One position through the layers as a table: the final answer's probability and rank, and the most likely answers.

/**
 * @param {Lens} found @param {number} at  of `found.rows` @param {State} state
 * @param {Actions|null} actions  null where no logit can be explained
 */
function followedTable(found, at, state, actions) {
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

/**
 * A candidate: a click has the inspector explain its logit.
 * @param {Lens} found @param {number} depth @param {number} at @param {number} id @param {number} i @param {State} state @param {Actions|null} actions
 */
function chip(found, depth, at, id, i, state, actions) {
  const p = found.probability[depth][at][i];
  const colour = rampColour("share", p);
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
    h("span", { class: "tokname" }, offeredText(found.tokens[id])),
    h("small", null, percent(p, p < 0.0995 ? 1 : 0)),
  );
}

const elementsOf = perRoot((root) => {
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
 * @param {HTMLElement} root @param {Lens} found @param {ModelTrace} trace @param {number} at  of `found.rows`
 * @param {State} state @param {Actions} actions
 */
export function drawFollowed(root, found, trace, at, state, actions) {
  const parts = elementsOf(root);
  const { layers_axis: axis } = predictionState.of(state);
  const final = found.tokens[found.final.ids[at]];
  const next = found.next.same[at] ? null : (found.tokens[found.next.ids[at] ?? -1] ?? null);
  const series = seriesOf(final, next);
  replace(parts.title, h("span", null, phrase("lens.followed", { token: namedToken(final), row: found.rows[at] })));
  replace(
    parts.legend,
    series.map(({ name: words, colour }) => [
      h("span", { class: "swatch plain", style: { background: colour } }),
      h("span", null, words),
    ]),
  );
  parts.axis.show(axis, (name) => actions.set(predictionState.patch({ layers_axis: name })));
  drawBarPicture(
    parts.bars,
    barsOf(found, at, series, { final, next, log: axis === "log", vocab: trace.model.vocab_size }),
  );
  const explains = can(trace.model, "contributions");
  parts.hint.hidden = !explains;
  update(parts.table, { "aria-label": t("lens.table_label", { row: found.rows[at] }) });
  keepingFocus(parts.table, () => replace(parts.table, followedTable(found, at, state, explains ? actions : null)));
}

/**
 * The model's answer, and the actual next token if it differs.
 * @param {VocabularyToken} final @param {VocabularyToken|null} next
 */
function seriesOf(final, next) {
  const answer = { name: t("lens.series_final", { token: tokenName(final) }), colour: cssColour("--bar-solid") };
  return next
    ? [answer, { name: t("lens.series_next", { token: tokenName(next) }), colour: cssColour("--bar-pale") }]
    : [answer];
}

/**
 * @param {Lens} found @param {number} at  of its rows @param {{name: string, colour: string}[]} series
 * @param {{final: VocabularyToken, next: VocabularyToken|null, log: boolean, vocab: number}} about
 * @returns {Bars}
 */
function barsOf(found, at, series, { final, next, log, vocab }) {
  const labels = depthLabels(found.top.length);
  const value = (/** @type {"final"|"next"} */ who, /** @type {number} */ depth) => found[who].probability[depth][at];
  /** @param {VocabularyToken} token @param {"final"|"next"} who @param {number} depth */
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
