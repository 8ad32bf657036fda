/** Tokens: the text in pieces, with their bytes. */

import { lazily } from "../../data/lazily.js";

export default {
  id: "tokens",
  // Other tokenizers read text.
  needs: (state, model) => (model.picture ? [] : ["counts"]),
  ...lazily(() => import("./draw.js")),
};
