/** Which source tokens the chosen target token looks at: the cross-attention row of the open head, as bars. */

import { inside } from "../../model/compare/measure.js";
import { attentionsOf, isCross, writesTarget } from "../../model/description.js";
import { tokenName } from "../../model/labels.js";
import { queryAt } from "../../model/written.js";
import { h, keepingFocus, replace } from "../../ui/dom.js";
import { headWords } from "../../ui/heads.js";
import { phrase, t } from "../../ui/i18n.js";
import { namedToken, tokenText } from "../../ui/token_text.js";
import { isTrace } from "./drawn.js";

/** @import { Actions } from "../../stations/index.js" */

/**
 * @param {ReturnType<typeof import("./session.js").createSession>} session
 * @param {Actions} actions
 */
export function createCrossRow(session, actions) {
  const about = h("p", { class: "dim" });
  const row = h("div", { class: "looks", role: "group", dataset: { testid: "gen-cross" } });
  const node = h("div", { class: "cross-row" }, about, row);

  const choose = (index, key) => {
    const [state, model] = [actions.get(), session.model()];
    actions.set({ attention: null, query: queryAt(state, model, index), key });
  };

  return {
    node,
    draw(trace, state) {
      const cross = crossOf(trace?.model);
      node.hidden = !writesTarget(trace?.model) || !cross;
      const path = session.path();
      if (!cross || node.hidden || !path) return;
      const fits = isTrace(trace.written, path.ids);
      node.classList.toggle("stale", !fits); // keeps its place until the new row arrives
      if (!fits) return;
      const index = session.chosen(path);
      const { layer, head } = state;
      const of = headWords(trace.model, { attention: cross.id, layer, head });
      const token = namedToken(session.word(path.ids[index]), "q");
      const weights = trace.row(layer, head, index, cross.id);
      row.hidden = !weights;
      if (!weights) return replace(about, t("generation.cross_pooled", { of, n: trace.pool }));
      replace(about, phrase("generation.cross", { of, token, next: index + 1 }));
      row.setAttribute("aria-label", about.textContent ?? "");
      const lit = trace.attention === cross ? state.key : null;
      keepingFocus(row, () => replace(row, barsOf(trace, weights, index, lit, choose)));
    },
  };
}

/** The attention in which one side looks at the other; null if there is none with a picture. */
const crossOf = (model) => attentionsOf(model).find((one) => isCross(one) && one.overview) ?? null;

function barsOf(trace, weights, index, lit, choose) {
  const { tokens, real } = trace.sides.source;
  return tokens.map((token, key) => {
    const weight = weights[key];
    const label = t("generation.cross_key", { token: tokenName(token), key });
    const attrs = {
      class: `look${key === lit ? " k" : ""}${inside(real, key) ? "" : " pad"}`,
      type: "button",
      title: label,
    };
    return h(
      "button",
      {
        ...attrs,
        style: { "--share": weight },
        dataset: { key, weight, focus: key },
        on: { click: () => choose(index, key) },
      },
      h("i", { class: "bar", "aria-hidden": true }),
      h("span", { class: "mono" }, tokenText(token)),
    );
  });
}
