/** Where some heads look from one token: the sentence once for each head, every token shaded by its weight. */

import { attentionOf, tapOf } from "../../../model/description.js";
import { tokenLabel, tokenName } from "../../../model/labels.js";
import { indexOfMost } from "../../../model/matrix.js";
import { h, keepingFocus, replace } from "../../../ui/dom.js";
import { percent } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import { rowOf } from "../live.js";
import { chooser } from "./chooser.js";

/**
 * @import { Token } from "../../../model/labels.js"
 * @import { Figure } from "./index.js"
 */

/** @type {Figure} `heads`: pairs of layer and head */
export async function draw(root, live, { query, heads }) {
  const open = attentionOf(live.model);
  const tapIn = (/** @type {number} */ layer) => tapOf(open, layer, "pattern");
  const { tokens, tensors } = await live.tensors([...new Set(heads.map(([layer]) => tapIn(layer)))]);

  /** @param {number} at */
  function show(at) {
    const lines = heads.map(([layer, head]) =>
      line({ layer, head }, rowOf(tensors[tapIn(layer)], at, head), tokens, at),
    );
    const title = h("h2", { class: "lesson-caption" }, t("lesson.gaze.title"));
    const legend = h("p", { class: "dim" }, t("lesson.gaze.legend"));
    keepingFocus(root, () => replace(root, title, chooser(tokens, at, show), lines, legend));
  }
  show(query);
}

/**
 * @param {{layer: number, head: number}} of @param {ArrayLike<number>} weights
 * @param {Token[]} tokens @param {number} at
 */
function line(of, weights, tokens, at) {
  const most = indexOfMost(weights);
  const key = h("b", { class: "mono" }, tokenName(tokens[most]));
  const chips = tokens.map((token, i) =>
    h("span", { class: i > at ? "later" : null, style: { "--lit": weights[i].toFixed(3) } }, tokenLabel(token)),
  );
  return h(
    "div",
    { class: "gaze" },
    h(
      "h3",
      null,
      t("lesson.gaze.head", of),
      h("small", { class: "dim" }, phrase("lesson.gaze.most", { key, p: percent(weights[most], 0) })),
    ),
    h("p", { class: "gaze-tokens mono" }, chips),
  );
}
