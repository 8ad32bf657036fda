/** The sentence as buttons; two of them are picked to change places. A click replaces the older pick. */

import { movable, own } from "../../data/embedding.js";
import { tokenName } from "../../model/labels.js";
import { walkList } from "../../ui/controls.js";
import { h, replace } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { tokenText } from "../../ui/token_text.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Actions } from "../index.js"
 */

/**
 * @param {HTMLElement} root @param {ModelTrace} trace
 * @param {{i: number, j: number}|null} pair  the newer pick is j @param {Actions} actions
 */
export function drawPicks(root, trace, pair, actions) {
  const { tokens, real } = trace.sides.source;
  const own = tokens.slice(movable(trace), real.end);
  replace(
    root,
    own.map((token) => pick(token, tokens, pair, actions)),
  );
  root.onkeydown = (event) => walkList(event, "ArrowLeft", "ArrowRight");
}

function pick(token, tokens, pair, actions) {
  const { index, id } = token;
  const picked = pair !== null && (index === pair.i || index === pair.j);
  // swapping it with an equal token would change nothing
  const useless = pair === null || (!picked && tokens[pair.j].id === id);
  const label = t(picked ? "embedding.picked" : "embedding.pick", { token: tokenName(token), i: index });
  const other = pair && (index === pair.j ? pair.i : pair.j); // the pick that stays
  const choose = () => !useless && pair && actions.set(own.patch({ swap: [other, index] }));
  return h(
    "button",
    {
      class: `tok swap-pick${picked ? " on" : ""}`,
      type: "button",
      title: useless ? t("embedding.same_token") : label,
      "aria-label": label,
      "aria-pressed": picked,
      "aria-disabled": useless ? "true" : null,
      dataset: { testid: "swap-pick", index, focus: `pick-${index}` },
      on: { click: choose },
    },
    h("span", { class: "text" }, tokenText(token)),
    h("i", null, index),
  );
}
