/** Tokens: the text in pieces, with their bytes. */

import { lazily } from "../../data/lazily.js";

export default {
  id: "tokens",
  needs: ["counts"],
  ...lazily(() => import("./draw.js")),
};
