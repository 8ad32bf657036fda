/** The masks panel: what a position may see, what stands beside the sentence, and the comparison with training. */

import { compared } from "../compare/runs.js";
import { leakOfHead } from "../compare/measure.js";
import { runWords } from "../compare/words.js";
import { replace } from "../lib/dom.js";
import { integer, percent } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { createPadding } from "./padding.js";
import { switchRow } from "./switch_row.js";

/** @param {HTMLElement} root @param {import("./all.js").Context} context @returns {import("./all.js").Draw} */
export function createMasks(root, { actions }) {
  const causal = switchRow("causal", t("masks.causal"), (on) => actions.set({ causal: on }));
  const padding = createPadding(actions);
  const compare = switchRow("compare", t("masks.compare"), (on) => actions.set({ compare: on }));
  replace(root, causal.row, padding.rows, compare.row);

  return (trace, state) => {
    const leak = trace && leakNow(trace, state);
    const isNow = trace && trace.causal === state.causal;
    causal.set(state.causal, t("masks.causal_about"), isNow ? effect(trace, state, leak) : "");
    padding.draw(trace, state, leak);
    const { before, after } = compared(state);
    compare.set(state.compare, t("masks.compare_about", { before: runWords(before), after: runWords(after) }), "");
  };
}

/**
 * What leaks in the open head, out of its float32; null until it is here.
 * @returns {import("../compare/measure.js").Leak|null}
 */
function leakNow({ detail, tokens, real }, { layer, head }) {
  if (detail?.layer !== layer || detail?.head !== head) return null;
  return leakOfHead({ data: detail.pattern.data, size: tokens.length, real });
}

/** What the causal mask does at this moment, counted in the trace. */
function effect(trace, state, leak) {
  const mask = trace.mask(state.layer, state.head);
  const forbidden = mask.reduce((count, reasons) => count + (reasons ? 1 : 0), 0);
  if (trace.causal) return t("masks.on_now", { forbidden: integer(forbidden), cells: integer(mask.length) });
  if (!leak) return t("masks.off_now_short");
  return t(forbidden ? "masks.off_now_padded" : "masks.off_now", { share: percent(leak.future) });
}
