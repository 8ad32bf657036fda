/** The residual stream: its length, what each sublayer writes to it, what LayerNorm does to it, and what it is for. */

import { lazily } from "../../data/lazily.js";
import { can, predictsTokens } from "../../model/description.js";
import { own } from "./own.js";

export default {
  id: "residual",
  has: (model) => can(model, "gradients") && can(model, "parameters"),
  own,
  inspector: "norm",
  needs: (state, model) => [
    "explain:residual",
    "explain:gradients",
    "explain:parameters",
    ...(predictsTokens(model) ? ["prediction"] : []),
  ],
  ...lazily(() => import("./draw.js")),
};
