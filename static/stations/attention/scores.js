/**
 * QKᵀ/√d_head, before the mask: how well each query matches each key. Always finite, also where the mask will forbid.
 */

import { lazily } from "../../data/lazily.js";

export default {
  id: "scores",
  ofHead: true,
  gives: "attention",
  roles: ["q", "k", "scores", "mask"],
  needs: ["detail"],
  ...lazily(() => import("./draw_scores.js")),
};
