/** One element of z as a sum in words, and how much each key contributes to the row. */

import { tokenName } from "../../model/labels.js";
import { lengthOf, rowIn, sum } from "../../model/matrix.js";
import { h, replace } from "../../ui/dom.js";
import { checkOf, number, percent, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { tokenText } from "../../ui/token_text.js";
import { drawBarList, nameOfPart } from "../activation_parts.js";
import { labelsOf } from "../query_key.js";
import { sharesOf, termsOf } from "./data.js";

/** How many terms are written out, and how many keys have a bar. */
const [TERMS, KEYS] = [3, 12];

/** z_id = Σ_j a_ij v_jd, with its largest terms. @param {HTMLElement} root */
export function drawSum(root, { detail }, z, { query, dimension }) {
  const { weights, column, terms } = termsOf(detail, query, dimension);
  const order = [...terms.keys()].filter((j) => terms[j] !== 0).sort((a, b) => Math.abs(terms[b]) - Math.abs(terms[a]));
  const total = sum(terms);
  const rest = order.slice(TERMS);
  const written = order.slice(0, TERMS).flatMap((j, i) => [i > 0 && " + ", termOf(weights[j], column[j], j)]);
  const more = rest.length > 0 && [
    " + ",
    h(
      "span",
      { class: "dim" },
      t("av.more_terms", { n: rest.length, value: significant(sum(rest.map((j) => terms[j])), 3) }),
    ),
  ];
  const name = [h("i", null, "z"), h("sub", null, `${query}, ${dimension}`)];
  const value = h("b", null, significant(total, 5));
  replace(
    root,
    h("span", { class: "mono" }, name, " = ", order.length ? [written, more, " = "] : "", value),
    " ",
    checkOf(total, rowIn(z, query)[dimension]),
  );
}

function termOf(weight, value, j) {
  const signed = value < 0 ? `(${number(value, 3)})` : number(value, 3);
  return h(
    "span",
    { class: "term", title: t("av.term", { j }) },
    significant(weight, 3),
    "·",
    h("span", { class: "v" }, signed),
  );
}

/** a·‖v‖ of each key, longest first. */
export function drawShares(place, { detail: { v, pattern }, keys, queries }, z, { query, key }, onChoose) {
  const all = sharesOf(v, rowIn(pattern, query));
  const total = all.reduce((sum, { moved }) => sum + moved, 0);
  const labels = labelsOf(keys.tokens);
  const token = h("b", { class: "q mono" }, tokenName(queries.tokens[query]));
  nameOfPart(place, phrase("av.shares_title", { token }), t(all.length ? "av.shares_about" : "av.shares_none"));
  const bars = all.slice(0, KEYS).map((one) => ({
    id: String(one.key),
    name: [tokenText(keys.tokens[one.key]), h("small", { class: "dim" }, ` ${one.key}`)],
    share: one.moved / all[0].moved,
    value: percent(one.moved / total),
    words: t("av.share", {
      key: labels[one.key],
      j: one.key,
      a: significant(one.weight),
      length: significant(one.length),
      moved: significant(one.moved),
      share: percent(one.moved / total, 2),
    }),
    chosen: one.key === key,
    role: "v",
    onChoose: () => onChoose(one.key),
  }));
  drawBarList(place.place, { label: t("av.shares_label", { n: all.length }), bars });
  replace(place.said, saidOf(all, total, lengthOf(rowIn(z, query))));
  place.said.dataset.total = String(total);
}

function saidOf(all, total, length) {
  if (!all.length) return "";
  const hidden = all.slice(KEYS);
  const rest = hidden.reduce((sum, { moved }) => sum + moved, 0);
  const more = hidden.length > 0 && `${t("av.shares_more", { n: hidden.length, share: percent(rest / total) })} `;
  return [more, t("av.shares_sum", { total: significant(total), length: significant(length) })];
}
