/** Each tab's code is loaded when it is first shown. */

import { lazily } from "../../data/lazily.js";

export const TABS = {
  token: lazily(() => import("./token.js")),
  layers: lazily(() => import("./layers/draw.js")),
};
