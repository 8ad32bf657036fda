/** A·V: what each token receives from the open head, as the weighted sum of the values it looks at. */

import { lazily } from "../../data/lazily.js";

export default {
  id: "av",
  ofHead: true,
  gives: "attention",
  roles: ["pattern", "mask", "v", "z"],
  why: "z",
  needs: ["detail", "role:z"],
  ...lazily(() => import("./draw.js")),
};
