/** The first step: the text split into tokens, each with its id in the vocabulary. */

import { h } from "../../ui/dom.js";
import { integer } from "../../ui/format.js";
import { math, mi, mn, mo } from "../../ui/mathml.js";
import { tokenText } from "../../ui/token_text.js";

export const tokens = {
  formula: (step, { model }) =>
    math(
      mi(model.picture ? "picture" : "text"),
      mo("→"),
      mi("tokens"),
      mo("→"),
      mn(0),
      mo("≤"),
      mi("id"),
      mo("≤"),
      mn(integer(model.vocab_size - 1)),
    ),
  list({ trace, query }, actions) {
    const item = (token) => {
      const chosen = token.index === query;
      const attrs = {
        type: "button",
        class: chosen ? "tok q" : "tok",
        "aria-pressed": chosen,
        dataset: { focus: `token-${token.index}` },
        on: { click: () => actions.set({ query: token.index }) },
      };
      return h(
        "li",
        null,
        h("button", attrs, tokenText(token)),
        h("span", { class: "arrow", "aria-hidden": true }, "↓"),
        h("b", { class: "mono" }, token.id),
        h("small", { class: "dim" }, token.index),
      );
    };
    return h("ol", { class: "id-list" }, trace.queries.tokens.map(item));
  },
};
