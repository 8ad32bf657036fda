/** What changes when two tokens change places, with and without positions: without positions, attention sees a set. */

import { swapOf } from "../../data/embedding.js";
import { h, keepingFocus, perRoot, replace, setText, update } from "../../ui/dom.js";
import { keyFor, t } from "../../ui/i18n.js";
import { math, mi, mo, mtext, row, sup } from "../../ui/mathml.js";
import { labelsOf } from "../query_key.js";
import { drawPicks } from "./picks.js";
import { drawRuns } from "./swap_runs.js";

const partsOf = perRoot((place) => {
  const picks = h("div", { class: "tokens", role: "toolbar" });
  const after = h("p", { class: "embedding-after", "aria-live": "polite" });
  const none = h("p", { class: "embedding-note" });
  const runs = h("div", { class: "swap-runs" });
  place.append(picks, after, none, runs);
  return { picks, after, none, runs };
});

export default {
  sides: false, // tokens change places in the sentence itself
  draw(place, trace, state, actions) {
    const parts = partsOf(place);
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
  const length = (...x) => row(mtext("‖"), ...x, mtext("‖"));
  return math(length(sup(mi("x"), mo("′")), mo("−"), mi("x")), mo("/"), length(mi("x")));
}

/** The sentence as it is read after the swap. */
function swapped({ sides: { source } }, { i, j }) {
  const order = source.tokens
    .map((_, at) => (at === i ? j : at === j ? i : at))
    .slice(source.real.start, source.real.end);
  const labels = labelsOf(source.tokens);
  const words = order.map((at) => h("span", { class: at === i || at === j ? "swapped" : null }, labels[at]));
  return [h("span", { class: "dim" }, t("embedding.reads_now")), " ", h("span", { class: "mono" }, words)];
}
