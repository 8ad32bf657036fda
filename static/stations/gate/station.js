/** Without a QKᵀ: numerator ÷ denominator, times the gate σ(q), which is all that a query decides. */

import { lazily } from "../../data/lazily.js";
import { own } from "./own.js";

export default {
  id: "gate",
  ofHead: true,
  gives: "attention",
  roles: ["gate", "mixed", "numerator", "denominator", "z"],
  inspector: "role",
  own,
  needs: ["detail", "role:numerator", "role:denominator", "role:mixed", "role:gate", "role:z"],
  ...lazily(() => import("./draw.js")),
};
