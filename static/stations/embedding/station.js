/** Embedding + position: what the first layer reads, the positions, what they are for, and a token's neighbours. */

import { own } from "../../data/embedding.js";
import { lazily } from "../../data/lazily.js";
import { shownStack, TABS, tabOf } from "./tabs.js";

export default {
  id: "embedding",
  own,
  // A saved trace only has the tensors of the sum. The other tabs stay visible, so that they lead back.
  needs(state, model) {
    const tab = tabOf(state, model);
    if (state.file !== null && tab !== "sum") return [];
    return TABS[tab](shownStack(state, model));
  },
  ...lazily(() => import("./draw.js")),
};
