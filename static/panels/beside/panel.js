/** The same sentence in two models: which, what to look at, and how different their next tokens are. */

import { lazily } from "../../data/lazily.js";
import { isBeside } from "../../model/compare/beside.js";

/** @import { Panel } from "../../stations/index.js" */

/** @type {Panel} */
export default {
  id: "beside",
  level: "everything",
  frame: { place: "home", className: "panel beside-about", title: "beside.title" },
  shown: isBeside,
  needs: [],
  ...lazily(() => import("./draw.js")),
};
