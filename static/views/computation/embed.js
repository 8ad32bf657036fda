/** The start of the residual stream: embeddings and positions. */

import { hidesBlocks } from "../../model/description.js";
import { cellIn } from "../../model/matrix.js";
import { h } from "../../ui/dom.js";
import { integer } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { math, mi, mn, mo, mtext, row, sqrt, sub } from "../../ui/mathml.js";
import { tokenText } from "../../ui/token_text.js";
import { isScaled, scalingWords } from "../formulas.js";
import { mapped } from "./matrices.js";
import { stacked } from "./product.js";
import { mat } from "./stream.js";
import { streamStart } from "./taps.js";

/**
 * @import { Stack } from "../../model/description.js"
 * @import { Token } from "../../model/labels.js"
 * @import { Kind } from "./kinds.js"
 * @import { Arithmetic } from "./product.js"
 */

/** The first step: the text split into tokens, each with its id in the vocabulary. @type {Kind} */
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
    const item = (/** @type {Token} */ token) => {
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

/** √d_model, if the model scales its embeddings by it. @param {Stack} stack */
const factor = ({ embedding }) => embedding.scale ?? 1;

/** Whether the model does more before its first block than its description says. @param {Stack} stack */
const hidesStart = (stack) =>
  hidesBlocks(stack) || (stack.embedding.parameters.embedding === null && !("patches" in stack.embedding.roles));

/** @type {Kind} */
export const embed = {
  note: ({ stack }) => (hidesStart(stack) ? t("computation.embedding_hidden") : scalingWords(stack)),
  formula({ stack }) {
    const scaled = isScaled(stack) ? [sqrt(sub(mi("d"), mi("model"))), mo("·")] : [];
    return math(
      mi("X"),
      mo("="),
      ...scaled,
      mi("E"),
      row(mtext("["), mi("id"), mtext("]")),
      ...(stack.embedding.roles.token_types ? [mo("+"), mi("S"), row(mtext("["), mi("type"), mtext("]"))] : []),
      ...(stack.embedding.roles.positional ? [mo("+"), mi("P"), row(mtext("["), mi("pos"), mtext("]"))] : []),
    );
  },
  picture({ trace, step: { stack }, queries }) {
    const times = factor(stack);
    const { embedding, positional, token_types: types } = stack.embedding.roles;
    const rows = mapped(trace.tensor(embedding.tap), "unscaled", (value) => value / times);
    const scaled =
      times === 1
        ? []
        : [
            mat(
              "scaled",
              "·√d =",
              () => row(sqrt(sub(mi("d"), mi("model"))), mi("E"), mtext("["), mi("id"), mtext("]")),
              trace.tensor(embedding.tap),
              queries,
            ),
          ];
    const positions = positional && [
      mat("p", "+", () => row(mi("P"), mtext("["), mi("pos"), mtext("]")), trace.tensor(positional.tap), queries, {
        learned: stack.embedding.positions === "learned",
      }),
    ];
    return stacked([
      mat("e", "", () => row(mi("E"), mtext("["), mi("id"), mtext("]")), rows, queries, { learned: true }),
      ...scaled,
      ...(types
        ? [
            mat("s", "+", () => row(mi("S"), mtext("["), mi("type"), mtext("]")), trace.tensor(types.tap), queries, {
              learned: true,
            }),
          ]
        : []),
      ...(positions ?? []),
      mat("x", "=", () => mi("X"), trace.tensor(streamStart(stack)), queries),
    ]);
  },
  explain({ trace, model, step: { stack } }, { mats, result }, query, col) {
    const { positional, token_types: types } = stack.embedding.roles;
    const e = cellIn(mats[0].matrix, query, col);
    const p = positional ? cellIn(trace.tensor(positional.tap), query, col) : 0;
    const s = types ? cellIn(trace.tensor(types.tap), query, col) : 0;
    const { tokens, positionIds, tokenTypes } = trace.queries;
    /** @type {Arithmetic["lines"]} */
    const scaled = isScaled(stack)
      ? [["computation.line.scaled", { d: model.description.d_model }, e * factor(stack)]]
      : [];
    /** @type {Arithmetic["lines"]} */
    const position = positional ? [["computation.line.position", { pos: positionIds[query], col }, p]] : [];
    /** @type {Arithmetic["lines"]} */
    const type = types ? [["computation.line.token_type", { type: tokenTypes?.[query] ?? 0, col }, s]] : [];
    /** @type {Arithmetic["lines"]} */
    const lines = [
      [isScaled(stack) ? "computation.line.unscaled" : "computation.line.embedding", { id: tokens[query].id, col }, e],
      ...scaled,
      ...type,
      ...position,
    ];
    return {
      terms: null,
      lines,
      total: e * factor(stack) + s + p,
      own: cellIn(result.matrix, query, col),
      tap: streamStart(stack),
    };
  },
};
