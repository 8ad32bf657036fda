/** Where the state of a token comes from, back through the layers: shares multiplied (Abnar & Zuidema 2020), over the picture. */

import { riversOf } from "../../data/river.js";
import { rollout } from "../../model/reach.js";
import { h, replace } from "../../ui/dom.js";
import { percent } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { pictureOver } from "../../ui/patch_picture.js";

/** @import { ModelTrace } from "../../data/model_trace.js" */

/** @param {HTMLElement} root @param {ModelTrace} trace @param {number} from */
export function drawRolled(root, trace, from) {
  const route = trace.explained.route;
  root.hidden = !route || Boolean(route.refused);
  if (root.hidden) return;
  const [river] = riversOf(route);
  const rolled = rollout([river], river.stack, from)[0].at.slice(0, -1).reverse();
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
