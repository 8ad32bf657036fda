/** The two sums of each channel's state, and the mean that they give. */

import { signedScale } from "../../chart/matrix/scale.js";
import { statesOf } from "../../model/feature_weights.js";
import { headOf } from "../../model/identities.js";
import { cellIn, columnIn } from "../../model/matrix.js";
import { position } from "../../model/selection.js";
import { h, replace } from "../../ui/dom.js";
import { checkOf, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { drawFeatureMatrix } from "../feature_matrix.js";

const PAD = 2;

/** The state of every channel before each token and after the last. */
export function channels({ detail, attention }, { k, decay, mask }) {
  const real = (i) => !(cellIn(mask, i, i) & PAD);
  return Array.from({ length: attention.d_head }, (_, d) =>
    statesOf({ k: columnIn(k, d), v: columnIn(detail.v, d), decay: decay[d], real }),
  );
}

/** a/b of each channel: what the state would give by itself; hatched where there is no state yet. */
export function drawStates(place, trace, state, actions, all, feature) {
  const n = trace.queries.tokens.length;
  const [data, empty] = [new Float32Array(n * all.length), new Uint8Array(n * all.length)];
  for (let i = 0; i < n; i++)
    for (let d = 0; d < all.length; d++) {
      const { above, below } = all[d][i];
      data[i * all.length + d] = below === 0 ? 0 : above / below;
      empty[i * all.length + d] = below === 0 ? 1 : 0;
    }
  drawFeatureMatrix(place, trace, state, actions, {
    id: "state",
    title: t("decay.states"),
    matrix: { shape: [n, all.length], data },
    feature,
    forbidden: empty,
    scale: signedScale(data, "v"),
    say(row, col) {
      const { above, below, top } = all[col][row];
      if (below === 0) return t("decay.empty");
      return t("decay.state", {
        a: significant(above, 4),
        b: significant(below, 4),
        top: significant(top, 4),
        value: significant(above / below, 5),
      });
    },
  });
}

/** The chosen token's mean by the recurrence, beside the model's matrix form. */
export function drawLine(root, trace, state, { k, bonus, mask }, states, feature) {
  const { query } = position(state, trace);
  const { above, below, top } = states[query];
  const own = cellIn(k, query, feature) + bonus[feature];
  const shift = Math.max(top, own);
  const [kept, added] = [below === 0 ? 0 : Math.exp(top - shift), Math.exp(own - shift)];
  const value = (kept * above + added * cellIn(trace.detail.v, query, feature)) / (kept * below + added);
  const mixed = cellIn(headOf(trace.role("mixed", state.layer), state.head, trace.attention.n_head), query, feature);
  const edited = mask.data.some((reasons) => reasons > 3); // a state knows no cut
  const name = [h("i", null, "y"), h("sub", null, `${query}, ${feature}`)];
  replace(
    root,
    edited
      ? t("decay.edited")
      : [
          h("span", { class: "mono" }, name, " = ", h("b", null, significant(value, 5))),
          " ",
          t("decay.recurrence"),
          " ",
          checkOf(value, mixed),
        ],
  );
}
