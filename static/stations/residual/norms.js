/**
 * What each LayerNorm does to the chosen token's vector: its length before and after, and how much of the direction
 * is kept.
 */

import { wordOf } from "../../model/description.js";
import { tokenName } from "../../model/labels.js";
import { normsOf } from "../../model/places.js";
import { h, keepingFocus, replace, scrolling, tableHead } from "../../ui/dom.js";
import { number, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { withFormulas } from "../../ui/mathml.js";
import { drawFolded, nameOfPart } from "../activation_parts.js";

const COLUMNS = ["where", "in", "hat", "out", "kept", "gain", "bias"];

/** @param {ReturnType<typeof import("../activation_parts.js").part>} place */
export function drawNorms(place, trace, { stack, stream, query, layer }, actions) {
  const token = h("b", { class: "q mono" }, tokenName(trace.queries.tokens[query]));
  nameOfPart(place, phrase("residual.norms_title", { token }), t("residual.norms_about"));
  const head = tableHead(COLUMNS.map((name) => t(`residual.norm_${name}`)));
  const places = normsOf(stack); // in the order of the forward pass, as the answer's
  const rows = stream.norms.map((one, n) => rowOf(one, nameOf(trace.model, places[n]), { query, layer }, actions));
  const table = h("table", { class: "token-table norms", dataset: { testid: "norms" } }, head, h("tbody", null, rows));
  keepingFocus(place.place, () => drawFolded(place.place, scrolling(t("residual.norms_label"), table)));
  replace(place.said, withFormulas(t("residual.norms_said", { root: significant(Math.sqrt(trace.model.d_model), 4) })));
}

/** The name of one of the stack's LayerNorms: its layer and its sublayer. */
const nameOf = (model, { layer, sublayer }) => ({ layer, word: sublayer ? wordOf(model, sublayer) : "final" });

function rowOf(norm, { layer, word }, { query, layer: open }, actions) {
  const name = t(`residual.norm_of.${word}`, { layer: layer ?? 0 });
  const where =
    layer === null
      ? name
      : h(
          "button",
          { class: "link", type: "button", dataset: { focus: norm.path }, on: { click: () => actions.set({ layer }) } },
          name,
        );
  const kept = norm.cos_in_out[query];
  const bar = h(
    "span",
    { class: "cosine", "aria-hidden": true },
    h("span", { style: { width: `${(Math.max(0, kept) * 100).toFixed(1)}%` } }),
  );
  const [low, high] = norm.gain;
  const lengths = [norm.norm_in, norm.norm_hat, norm.norm_out].map((one) => significant(one[query]));
  const cells = [
    where,
    ...lengths,
    [bar, number(kept, 3)],
    `${number(low, 2)} … ${number(high, 2)}`,
    significant(norm.bias_norm, 3),
  ];
  const data = { norm: norm.path, in: norm.norm_in[query], out: norm.norm_out[query], kept };
  return h(
    "tr",
    { class: layer === open ? "open" : null, dataset: data },
    cells.map((cell) => h("td", null, cell)),
  );
}
