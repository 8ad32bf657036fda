/** M, with its reasons: 0 is added where a query may look at a key, −∞ where something forbids it. */

import { lazily } from "../../data/lazily.js";

export default {
  id: "mask",
  ofHead: true,
  roles: ["mask"],
  needs: ["detail"],
  ...lazily(() => import("./draw_mask.js")),
};
