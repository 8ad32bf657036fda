/** Rotary positions: each pair of dimensions of q and k, before and after it is turned. */

import { lazily } from "../../data/lazily.js";
import { own } from "./own.js";

export default {
  id: "rotation",
  ofHead: true,
  roles: ["q", "k", "q_rotated", "k_rotated", "scores"],
  inspector: "weight",
  own,
  needs: ["detail", "role:q_rotated", "role:k_rotated"],
  ...lazily(() => import("./draw.js")),
};
