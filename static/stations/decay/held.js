/** What one channel still holds of each token. */

import { drawTermBars } from "../../chart/bars/bars.js";
import { featureTerms, halfLife } from "../../model/feature_weights.js";
import { tokenName } from "../../model/labels.js";
import { position } from "../../model/selection.js";
import { percent, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { nameOfPart } from "../activation_parts.js";

/** What is left of each token in the state before the chosen one: bars by token. */
export function drawHeld(place, trace, state, actions, made, feature) {
  const { query } = position(state, trace);
  const { tokens } = trace.keys;
  const exps = featureTerms(made, query, query, feature)
    .exps.map((one, i) => (i < query ? one : 0))
    .slice(0, Math.max(query, 1));
  const total = exps.reduce((one, other) => one + other, 0);
  const shares = exps.map((one) => (total === 0 ? 0 : one / total));
  const life = t("decay.tokens", { n: significant(halfLife(made.decay[feature]), 3) });
  nameOfPart(
    place,
    t("decay.held", { d: feature, token: tokenName(trace.queries.tokens[query]) }),
    t(total ? "decay.held_about" : "decay.empty", { life }),
  );
  place.place.hidden = total === 0;
  if (total === 0) return;
  drawTermBars(place.place, {
    terms: shares,
    label: t("decay.held_label", { n: shares.length }),
    words: (i) => t("decay.held_term", { key: tokenName(tokens[i]), i, share: percent(shares[i]) }),
    onChoose: (key) => actions.set({ query, key }),
  });
}
