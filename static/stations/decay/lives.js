/** How fast each channel forgets. */

import { weightScale } from "../../chart/matrix/scale.js";
import { parameterOf } from "../../model/description.js";
import { halfLife } from "../../model/feature_weights.js";
import { position } from "../../model/selection.js";
import { number, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { drawFeatureMatrix } from "../feature_matrix.js";

/** Half-lives of all channels, a row for each group; the darker, the longer, on a logarithmic scale. */
export function drawLives(place, trace, state, actions, feature) {
  const { attention, weight } = trace;
  const decay = weight(parameterOf(attention, state.layer, "decay"));
  const lives = Float32Array.from(decay.data, halfLife);
  const logs = Array.from(lives, Math.log);
  const [low, high] = [Math.min(...logs), Math.max(...logs)];
  const groups = Array.from({ length: attention.n_head }, (_, head) => t("decay.group", { head }));
  drawFeatureMatrix(place, trace, state, actions, {
    id: "half-life",
    title: t("decay.lives"),
    matrix: { shape: [attention.n_head, attention.d_head], data: lives },
    feature,
    labels: groups,
    row: state.head,
    tones: Float32Array.from(logs, (one) => (high > low ? (one - low) / (high - low) : 1)),
    scale: {
      ...weightScale(),
      ends: [
        t("decay.tokens", { n: significant(Math.exp(low), 2) }),
        t("decay.tokens", { n: significant(Math.exp(high), 3) }),
      ],
    },
    cellText: (value) => (value >= 10 ? number(value, 0) : number(value, 1)),
    say: (head, d) => t("decay.tokens", { n: significant(lives[head * attention.d_head + d], 4) }),
    choice: (head, d) => ({ head, cell: [position(state, trace).query, d] }),
  });
}
