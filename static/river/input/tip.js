/** What is under the pointer, in words beside it: a line, an FFN, or a token and what a click on it shows. */

import { setText, update } from "../../ui/dom.js";

/** @typedef {import("../board.js").Board} Board  @typedef {import("../layout/lines.js").Line} Line  @typedef {import("../layout/layout.js").Bead} Bead */

/** @param {HTMLElement} tip @param {Board} board @param {Line|Bead|string|null} what  or its words */
export function showTip(tip, { scene, actions, pointer: { x, y } }, what) {
  tip.hidden = what === null;
  if (!what || !actions || !scene) return;
  setText(tip, typeof what === "string" ? what : actions.tell(what).join("\n"));
  const left = x < scene.width / 2;
  const side = left ? { left: `${x + 16}px`, right: "auto" } : { left: "auto", right: `${scene.width - x + 16}px` };
  update(tip, { style: { top: `${y + 12}px`, ...side } });
}
