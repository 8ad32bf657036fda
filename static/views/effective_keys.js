/** The effective number of keys of the chosen token, in each head of the open layer and in all of them together. */

import { effectiveOf } from "../model/matrix.js";
import { position } from "../model/selection.js";
import { h, perRoot, replace, setText, shareCell, tableHead } from "../ui/dom.js";
import { number } from "../ui/format.js";
import { headShort } from "../ui/heads.js";
import { phrase, t } from "../ui/i18n.js";
import { namedToken } from "../ui/token_text.js";

/**
 * @import { Matrix, ModelTrace } from "../data/model_trace.js"
 * @import { State } from "../state/store.js"
 */

const elementsOf = perRoot((root) => {
  const [where, about, body] = [h("span", { class: "dim" }), h("p", { class: "dim" }), h("tbody")];
  const head = tableHead([t("effective.head"), t("effective.keys")]);
  const table = h("table", { class: "token-table" }, head, body);
  replace(root, h("h2", null, t("effective.title"), " ", where), about, table);
  return { where, about, body };
});

/** @param {HTMLElement} root @param {ModelTrace} trace @param {State} state */
export function draw(root, trace, state) {
  const parts = elementsOf(root);
  const { query } = position(state, trace);
  const found = effectiveOf(/** @type {Matrix} */ (trace.heads), query);
  const most = trace.keys.tokens.length;
  const cell = (/** @type {number} */ keys) => shareCell(keys / most, number(keys, 2));
  /** @param {string} name @param {number} keys @param {{head: number|string}} data */
  const row = (name, keys, data) =>
    h("tr", { dataset: { testid: "effective", keys, ...data } }, h("th", { scope: "row" }, name), cell(keys));
  const { id } = trace.attention;
  setText(parts.where, t("effective.where", { layer: state.layer }));
  replace(parts.about, phrase("effective.about", { token: namedToken(trace.queries.tokens[query]) }));
  replace(
    parts.body,
    found.heads.map((keys, head) =>
      row(headShort(trace.model, { attention: id, layer: state.layer, head }), keys, { head }),
    ),
    found.heads.length > 1 ? row(t("effective.union"), found.union, { head: "union" }) : null,
  );
}
