/** Which of the source's tokens the chosen target token looks at: the cross-attention row of the open head, as bars. */

import { writesTarget } from "../../model/attentions.js";
import { isPad, tokenLabel } from "../../model/labels.js";
import { queryAt } from "../../model/written.js";
import { h, keepingFocus, replace } from "../../ui/dom.js";
import { headWords } from "../../ui/head_names.js";
import { phrase, t } from "../../ui/i18n.js";
import { tokenText } from "../../ui/token_text.js";
import { isTrace } from "./drawn.js";

/**
 * @param {ReturnType<typeof import("./session.js").createSession>} session
 * @param {import("../../stations/index.js").Actions} actions
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
      node.hidden = !writesTarget(trace?.model);
      const path = session.path();
      if (node.hidden || !path) return;
      const fits = isTrace(trace.written, path.ids);
      node.classList.toggle("stale", !fits); // it keeps its place until the new row is here
      if (!fits) return;
      const index = session.chosen(path);
      const { layer, head } = state;
      const of = headWords(trace.model, { attention: "cross", layer, head });
      const token = h("b", { class: "mono token-name q" }, tokenText(session.word(path.ids[index])));
      replace(about, phrase("generation.cross", { of, token, next: index + 1 }));
      row.setAttribute("aria-label", about.textContent ?? "");
      const lit = trace.attention.id === "cross" ? state.key : null;
      keepingFocus(row, () => replace(row, barsOf(trace, state, index, lit, choose)));
    },
  };
}

function barsOf(trace, { layer, head }, index, lit, choose) {
  const { data, n_key, scale } = trace.pattern(layer, head, "cross");
  return trace.sides.source.tokens.map((token, key) => {
    const weight = data[index * n_key + key];
    const label = t("generation.cross_key", { token: tokenLabel(token), key });
    const attrs = {
      class: `look${key === lit ? " k" : ""}${isPad(token) ? " pad" : ""}`,
      type: "button",
      title: label,
    };
    return h(
      "button",
      {
        ...attrs,
        style: { "--share": weight / scale },
        dataset: { key, weight, focus: key },
        on: { click: () => choose(index, key) },
      },
      h("i", { class: "bar", "aria-hidden": true }),
      h("span", { class: "mono" }, tokenText(token)),
    );
  });
}
