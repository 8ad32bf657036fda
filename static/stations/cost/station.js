/** What one layer's attention costs as the text grows, in every mechanism: by formula, and measured on request. */

import { lazily } from "../../data/lazily.js";
import { own } from "./own.js";

export default {
  id: "cost",
  level: /** @type {const} */ ("everything"),
  own,
  needs: ["explain:cost"],
  ...lazily(() => import("./draw.js")),
};
