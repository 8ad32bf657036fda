/** Draws the river's panel. */

import { perRoot } from "../ui/dom.js";
import { buildParts } from "./parts.js";
import { createRiver } from "./river.js";

/** @import { View } from "../stations/index.js" */

const riverOf = perRoot((root) => createRiver(buildParts(root)));

/** @type {View["draw"]} */
export function draw(root, trace, state, actions) {
  if (root.hidden) riverOf(root).rest();
  else riverOf(root).show({ trace, state, actions });
}
