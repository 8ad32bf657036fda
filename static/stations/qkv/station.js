/** Q, K and V of one head: for each token what it looks for, what it is found by, and what it passes on. */

import { lazily } from "../../data/lazily.js";

export default {
  id: "qkv",
  ofHead: true,
  roles: ["q", "k", "v"],
  needs: ["detail"],
  ...lazily(() => import("./draw.js")),
};
