/** The tokens whose embeddings point the same way as one token's, compared with the mean of any two tokens. */

import { chosenToken, embeddingState } from "../../data/embedding.js";
import { tokenName } from "../../model/labels.js";
import { walkList } from "../../ui/controls.js";
import { h, keepingFocus, perRoot, replace } from "../../ui/dom.js";
import { number, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { frac, math, mi, mo, mtext, row, sub } from "../../ui/mathml.js";
import { namedToken, offeredText } from "../../ui/token_text.js";

/**
 * @import { Token, VocabularyToken } from "../../model/labels.js"
 * @import { Actions } from "../view.js"
 * @import { Tab } from "./draw.js"
 */

/**
 * @typedef {{id: number, norm: number, ids: number[], cosine: number[], dot: number[], mean_cosine: number,
 *   tokens: Object<number, VocabularyToken>}} Neighbours  the answer to "neighbours", nearest first
 */

const elementsOf = perRoot((place) => {
  const title = h("h2", null, t("embedding.nearest"));
  const who = h("p", { class: "embedding-who", "aria-live": "polite", dataset: { testid: "neighbours-of" } });
  const list = h("ol", { on: { keydown: (event) => walkList(event, "ArrowUp", "ArrowDown") } });
  const mean = h("p", { class: "embedding-note", dataset: { testid: "mean-cosine" } });
  const hint = h("p", { class: "dim hint" }, t("embedding.neighbour_hint"));
  const axis = h("span", { class: "axis" }, h("span", null, "0"), h("span", null, "1"));
  const head = h(
    "div",
    { class: "neighbour-head", "aria-hidden": true },
    h("span"),
    axis,
    h("span", null, t("embedding.cosine")),
  );
  place.append(title, who, h("div", { class: "neighbours" }, head, list), mean, hint);
  return { who, list, mean };
});

/** @type {Tab} */
export default {
  draw(place, trace, state, actions) {
    const parts = elementsOf(place);
    /** @type {Neighbours} */
    const found = trace.explained.neighbours;
    const chosen = chosenToken(state, trace);
    replace(parts.who, whoOf(found, chosen, actions));
    replace(parts.mean, meanWords(found));
    parts.mean.dataset.value = String(found.mean_cosine);
    keepingFocus(place, () =>
      replace(
        parts.list,
        found.ids.map((id, i) => rowOf(found, id, i, chosen, actions)),
      ),
    );
    const e = (/** @type {string} */ index) => sub(mi("e"), mi(index));
    const formula = math(
      mi("cos"),
      mo("="),
      frac(row(e("a"), mo("·"), e("b")), row(mtext("‖"), e("a"), mtext("‖"), mtext("‖"), e("b"), mtext("‖"))),
    );
    return { formula, note: t("embedding.neighbours_note") };
  },
};

/**
 * The token whose neighbours these are, and a link back to the chosen token.
 * @param {Neighbours} found @param {Token} chosen @param {Actions} actions
 */
function whoOf({ id, norm, tokens }, chosen, actions) {
  const about = phrase("embedding.neighbours_of", {
    token: namedToken(tokens[id] ?? chosen),
    id,
    norm: significant(norm, 4),
  });
  if (id === chosen.id) return about;
  const back = h(
    "button",
    {
      class: "btn",
      type: "button",
      dataset: { testid: "neighbours-back" },
      on: { click: () => actions.set(embeddingState.patch({ neighbour: null })) },
    },
    "◀ ",
    offeredText(chosen),
  );
  return [back, " ", ...about];
}

/** @param {Neighbours} found */
function meanWords({ cosine, mean_cosine: mean }) {
  const above = cosine.filter((one) => one > mean).length;
  return t("embedding.mean_cosine", { mean: number(mean, 3), above, n: cosine.length });
}

/** @param {Neighbours} found @param {number} id @param {number} i @param {Token} chosen @param {Actions} actions */
function rowOf({ tokens, cosine, dot, mean_cosine: mean }, id, i, chosen, actions) {
  const token = tokens[id];
  const vars = { token: tokenName(token), id, cosine: number(cosine[i], 4), dot: number(dot[i], 3) };
  const width = (/** @type {number} */ share) => `${Math.max(0, Math.min(1, share)) * 100}%`;
  return h(
    "li",
    null,
    h(
      "button",
      {
        class: "neighbour",
        type: "button",
        title: t("embedding.neighbour", vars),
        "aria-label": t("embedding.neighbour", vars),
        dataset: { testid: "neighbour", id, cosine: cosine[i], focus: `neighbour-${i}` },
        on: { click: () => actions.set(embeddingState.patch({ neighbour: [chosen.id, id] })) },
      },
      h("span", { class: "tokname" }, offeredText(token)),
      h(
        "span",
        { class: "track", "aria-hidden": true },
        h("span", { class: "bar-solid", style: { width: width(cosine[i]) } }),
        h("span", { class: "mean", style: { left: width(mean) } }),
      ),
      h("span", { class: "mono" }, number(cosine[i], 3)),
    ),
  );
}
