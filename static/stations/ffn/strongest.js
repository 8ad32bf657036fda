/** The strongest units of a token, and the strongest tokens of a unit. */

import { activationOf } from "../../model/activations.js";
import { inside } from "../../model/compare/measure.js";
import { tokenName } from "../../model/labels.js";
import { rowIn } from "../../model/matrix.js";
import { h, replace } from "../../ui/dom.js";
import { integer, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { tokenText } from "../../ui/token_text.js";
import { drawBarList, nameOfPart } from "../activation_parts.js";
import { corpusOf, strongest } from "./data.js";

const MANY = 8;

/** A unit fires where the activation sets the others to 0; otherwise its value is above 0. @param {"units"|"tokens"} what @param {{activation: string}} ffn */
const wordsOf = (what, { activation }) => `ffn.${what}_${activationOf(activation).silences ? "about" : "above"}`;

/** @param {ReturnType<typeof import("../activation_parts.js").part>} place */
export function drawUnitsOf(place, trace, { post, query, unit, n, ffn }, choose) {
  const row = rowIn(post, query);
  const found = strongest(row, MANY);
  const firing = row.reduce((count, value) => count + (value > 0 ? 1 : 0), 0);
  const token = h("b", { class: "q mono" }, tokenName(trace.queries.tokens[query]));
  nameOfPart(place, phrase("ffn.units_title", { token }), t(wordsOf("units", ffn), { n: firing, of: integer(n) }));
  const bars = found.map(({ index, value }) => ({
    id: String(index),
    name: t("ffn.unit", { unit: index }),
    share: value / found[0].value,
    value: significant(value, 3),
    words: t("ffn.unit_bar", { unit: index, value: significant(value, 5) }),
    chosen: index === unit,
    onChoose: () => choose({ ffnUnit: index }),
  }));
  drawBarList(place.place, { label: t("ffn.units_label", { n: bars.length }), bars });
}

/** @param {ReturnType<typeof import("../activation_parts.js").part>} place */
export function drawTokensOf(place, trace, { post, query, unit, n, ffn }, choose) {
  const { tokens, real } = trace.queries;
  const column = tokens.map((_, row) => (inside(real, row) ? post.data[row * n + unit] : 0));
  const found = strongest(column, MANY);
  const count = column.filter((value) => value > 0).length;
  nameOfPart(
    place,
    phrase("ffn.tokens_title", { unit: h("b", { class: "mono" }, unit) }),
    t(wordsOf("tokens", ffn), { count, n: real.end - real.start }),
  );
  const bars = found.map(({ index, value }) => ({
    id: String(index),
    name: [tokenText(tokens[index]), h("small", { class: "dim" }, ` ${index}`)],
    share: value / found[0].value,
    value: significant(value, 3),
    words: t("ffn.token_bar", { token: tokenName(tokens[index]), row: index, value: significant(value, 5) }),
    chosen: index === query,
    onChoose: () => choose({ query: index }),
  }));
  drawBarList(place.place, { label: t("ffn.tokens_label", { n: bars.length, unit }), bars });
  replace(place.said, inCorpus(corpusOf(trace.model, ffn), unit));
}

/** The stored sample's statement about the unit. */
function inCorpus(corpus, unit) {
  if (!corpus) return "";
  const kind = corpus.dead.includes(unit) ? "dead" : corpus.always_on.includes(unit) ? "always" : "some";
  return t(`ffn.in_corpus_${kind}`);
}
