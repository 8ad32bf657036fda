/** What is under the pointer, in words beside it: a line, an FFN, or a token and what a click on it shows. */

import { setText, update } from "../../ui/dom.js";

/**
 * @import { Board } from "../board.js"
 * @import { Bead } from "../layout/layout.js"
 * @import { Line } from "../layout/lines.js"
 */

/** @param {HTMLElement} tip @param {Board} board @param {Line|Bead|string|null} what  or its words */
export function showTip(tip, { scene, actions, pointer: { x, y } }, what) {
  tip.hidden = what === null;
  if (!what || !actions || !scene) return;
  setText(tip, typeof what === "string" ? what : actions.tell(what).join("\n"));
  const left = x < scene.width / 2;
  const side = left ? { left: `${x + 16}px`, right: "auto" } : { left: "auto", right: `${scene.width - x + 16}px` };
  update(tip, { style: { top: `${y + 12}px`, ...side } });
}
