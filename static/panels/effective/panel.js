/** How many keys each head of the open layer looks at, and all heads together: shown while two models stand side by side. */

import { lazily } from "../../data/lazily.js";

/** @import { Panel } from "../../stations/index.js" */

/** @type {Panel} */
export default {
  id: "effective",
  level: "everything",
  roles: ["overview"],
  frame: { place: "below", className: "panel effective", title: "effective.title" },
  shown: ({ beside }) => beside !== null,
  needs: ["heads"],
  ...lazily(() => import("./draw.js")),
};
