/** The control over the river: another model beside the page's. */

import { lazily } from "../../data/lazily.js";
import { own } from "../../model/compare/beside.js";

/** @import { Panel } from "../../stations/index.js" */

/** @type {Panel} */
export default {
  id: "beside_pick",
  level: "everything",
  own,
  frame: { place: "home", className: "beside-pick" },
  shown: ({ quiz, file, lesson }) => !quiz && file === null && lesson === null,
  needs: [],
  ...lazily(() => import("./pick.js")),
};
