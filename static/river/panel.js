/** The river: the whole model as one picture. Widths are rolled-out shares, darkness is measured by cutting. */

import { lazily } from "../data/lazily.js";
import { can, predictsTokens } from "../model/description.js";

export default {
  id: "river",
  frame: { place: "home", className: "panel river", title: "river.title" },
  /** @param {any} model */
  has: (model) => can(model, "route"),
  /** @param {import("../state/store.js").State} state @param {any} model */
  needs: (state, model) => [...(predictsTokens(model) ? ["prediction"] : []), "explain:route", "uncut"],
  ...lazily(() => import("./draw_panel.js")),
};
