/** Where the state of a token comes from, back through the layers: shares multiplied (Abnar & Zuidema 2020), over the picture. */

import { riversOf } from "../../data/river.js";
import { h, replace } from "../../ui/dom.js";
import { percent } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { pictureOver } from "../../ui/picture_over.js";

/**
 * How much of a token's last state was at each position, before each layer; the last layer first.
 * @param {import("../../data/river.js").River} river  of one stack that reads itself @param {number} from  the token
 * @returns {Float64Array[]}
 */
export function rolledOut({ layers, tokens, flows: [{ share }] }, from) {
  let above = new Float64Array(tokens);
  above[from] = 1;
  const found = [];
  for (let layer = layers - 1; layer >= 0; layer--) {
    const below = new Float64Array(tokens);
    for (let q = 0; q < tokens; q++) {
      const row = (layer * tokens + q) * tokens;
      for (let k = 0; k < tokens; k++) below[k] += above[q] * share[row + k];
    }
    found.push(below);
    above = below;
  }
  return found;
}

/** @param {HTMLElement} root @param {import("../../data/model_trace.js").ModelTrace} trace @param {number} from */
export function drawRolled(root, trace, from) {
  const route = trace.explained.route;
  root.hidden = !route || Boolean(route.refused);
  if (root.hidden) return;
  const [river] = riversOf(route);
  const rolled = rolledOut(river, from);
  const { tokens } = trace.queries;
  const most = Math.max(
    ...rolled.flatMap((shares) => tokens.flatMap(({ patch, index }) => (patch ? shares[index] : 0))),
  );
  const last = river.layers - 1;
  replace(
    root,
    h("h3", null, t("picture.rolled")),
    h(
      "div",
      { class: "rolled" },
      rolled.map((shares, i) => {
        const words = t(i ? "picture.back_to" : "picture.back_one", { from: last - i, to: last });
        return h("figure", null, pictureOver(tokens, shares, most, from), h("figcaption", null, words));
      }),
    ),
    h(
      "p",
      { class: "dim hint" },
      t("picture.rolled_about", { full: percent(most, 0), own: percent(rolled.at(-1)?.[from] ?? 0, 0) }),
    ),
  );
}
