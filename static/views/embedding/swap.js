/** What changes when two tokens change places, with and without positions: without positions, attention sees a set. */

import { embeddingState, movable, swapOf } from "../../data/embedding.js";
import { tokenName } from "../../model/labels.js";
import { walkList } from "../../ui/controls.js";
import { h, keepingFocus, perRoot, replace, setText, update } from "../../ui/dom.js";
import { keyFor, t } from "../../ui/i18n.js";
import { math, mi, mo, mtext, row, sup } from "../../ui/mathml.js";
import { tokenText } from "../../ui/token_text.js";
import { labelsOf } from "../query_key.js";
import { drawRuns } from "./swap_runs.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Token } from "../../model/labels.js"
 * @import { Actions } from "../view.js"
 * @import { Tab } from "./draw.js"
 */

// The sentence as buttons; two of them are picked to change places. A click replaces the older pick.

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

/** @param {Token} token @param {Token[]} tokens @param {{i: number, j: number}|null} pair @param {Actions} actions */
function pick(token, tokens, pair, actions) {
  const { index, id } = token;
  const picked = pair !== null && (index === pair.i || index === pair.j);
  // swapping it with an equal token would change nothing
  const useless = pair === null || (!picked && tokens[pair.j].id === id);
  const label = t(picked ? "embedding.picked" : "embedding.pick", { token: tokenName(token), i: index });
  const other = pair && (index === pair.j ? pair.i : pair.j); // the pick that stays
  const choose = () => !useless && other !== null && actions.set(embeddingState.patch({ swap: [other, index] }));
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

const elementsOf = perRoot((place) => {
  const picks = h("div", { class: "tokens", role: "toolbar" });
  const after = h("p", { class: "embedding-after", "aria-live": "polite" });
  const none = h("p", { class: "embedding-note" });
  const runs = h("div", { class: "swap-runs" });
  place.append(picks, after, none, runs);
  return { picks, after, none, runs };
});

/** @type {Tab} */
export default {
  sides: false, // tokens change places in the sentence itself
  draw(place, trace, state, actions) {
    const parts = elementsOf(place);
    const pair = swapOf(state, trace);
    update(parts.picks, { "aria-label": t(keyFor(trace.model, "embedding.picks")) });
    setText(parts.none, t(keyFor(trace.model, "embedding.swap_none")));
    keepingFocus(parts.picks, () => drawPicks(parts.picks, trace, pair, actions));
    parts.none.hidden = pair !== null;
    parts.runs.hidden = parts.after.hidden = pair === null;
    if (pair) {
      replace(parts.after, swapped(trace, pair));
      drawRuns(parts.runs, trace, pair, actions);
    }
    return { formula: formula(), note: t("embedding.change_note") };
  },
};

/** ‖x′ − x‖ / ‖x‖ */
function formula() {
  const length = (/** @type {Node[]} */ ...x) => row(mtext("‖"), ...x, mtext("‖"));
  return math(length(sup(mi("x"), mo("′")), mo("−"), mi("x")), mo("/"), length(mi("x")));
}

/** The sentence as it is read after the swap. @param {ModelTrace} trace @param {{i: number, j: number}} pair */
function swapped({ sides: { source } }, { i, j }) {
  const order = source.tokens
    .map((_, at) => (at === i ? j : at === j ? i : at))
    .slice(source.real.start, source.real.end);
  const labels = labelsOf(source.tokens);
  const words = order.map((at) => h("span", { class: at === i || at === j ? "swapped" : null }, labels[at]));
  return [h("span", { class: "dim" }, t("embedding.reads_now")), " ", h("span", { class: "mono" }, words)];
}
