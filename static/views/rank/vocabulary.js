/** A head over the vocabulary: what the open token matches and writes on the direct path, and how far the head copies. */

import { labelName, tokenLabel } from "../../model/labels.js";
import { position } from "../../model/selection.js";
import { h, replace, setText, shareCell } from "../../ui/dom.js";
import { errorText, number, percent, signed } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { namedToken, offeredText } from "../../ui/token_text.js";
import { inductionIn } from "../heads/labels.js";
import { headName } from "./effects.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { VocabularyToken } from "../../model/labels.js"
 * @import { State } from "../../state/store.js"
 */

/**
 * @typedef {Object} HeadVocabulary  the answer to "vocabulary"
 * @property {number[]} matches @property {number[]} scores @property {number} mean_score
 * @property {number[]} writes @property {number[]} raised @property {number} own
 * @property {number} copying @property {Object<number, VocabularyToken>} tokens
 */

export function buildVocabulary() {
  const [said, about] = [h("h2", { dataset: { testid: "vocabulary-said" } }), h("p", { class: "rank-about dim" })];
  const [matches, writes] = [h("section", null), h("section", null)];
  const shown = h("div", { class: "rank-columns" }, matches, writes);
  return { element: h("section", { class: "vocabulary" }, said, shown, about), said, about, matches, writes, shown };
}

/** @param {ReturnType<typeof buildVocabulary>} parts @param {ModelTrace} trace @param {State} state */
export function drawVocabulary({ said, about, matches, writes, shown }, trace, state) {
  const found = trace.explained.vocabulary;
  const known = Boolean(found?.matches);
  shown.hidden = about.hidden = !known;
  if (found?.refused) return setText(said, errorText(found.refused));
  if (!known) return setText(said, t("rank.begins"));
  const all = /** @type {HeadVocabulary} */ (found);
  const head = headName(trace.model, { ...state, attention: trace.attention.id });
  const figures = [t("vocabulary.copying", { copying: signed(all.copying, 2) }), ...repeatedWords(trace, state)];
  replace(said, h("span", null, [head, ...figures].filter(Boolean).join(" · ")));
  setText(about, t("vocabulary.about"));
  const token = namedToken(trace.queries.tokens[position(state, trace).query], "q");
  const mean = number(all.mean_score, 2);
  list(
    matches,
    phrase("vocabulary.matches", { token, mean }),
    { ids: all.matches, values: all.scores, ...all },
    "matches",
  );
  const own = signed(all.own, 2);
  list(
    writes,
    phrase("vocabulary.writes", { token: token.cloneNode(true), own }),
    { ids: all.writes, values: all.raised, ...all },
    "writes",
  );
}

/** What the open head does on random tokens that repeat; nothing where it was not measured. @param {ModelTrace} trace @param {State} state */
function repeatedWords({ explained, attention }, { layer, head }) {
  const found = inductionIn(explained);
  const one = found?.heads.find((one) => one.attention === attention.id && one.layer === layer && one.head === head);
  if (!found || !one) return [];
  const [share, chance] = [one.prefix_matching, found.chance].map((part) => percent(part, 0));
  const words = [t("vocabulary.prefix", { share, chance })];
  const random = percent(found.copying_chance, 0);
  return one.copying === null
    ? words
    : [...words, t("vocabulary.copied", { share: percent(one.copying, 0), chance: random })];
}

/** @param {HTMLElement} root @param {(Node|string)[]} title @param {{ids: number[], values: number[], tokens: Object<number, VocabularyToken>}} of @param {string} name */
function list(root, title, { ids, values, tokens }, name) {
  const most = Math.max(...values.map(Math.abs)) || 1;
  const rows = ids.map((id, i) =>
    h(
      "tr",
      { dataset: { testid: `vocabulary-${name}`, id, value: values[i] } },
      h(
        "th",
        { scope: "row", title: labelName(tokenLabel(tokens[id])) },
        h("span", { class: "tokname" }, offeredText(tokens[id])),
      ),
      shareCell(Math.abs(values[i]) / most, signed(values[i], 2)),
    ),
  );
  replace(root, h("h3", null, title), h("table", { class: "token-table" }, h("tbody", null, rows)));
}
