/** What a link says of the river beside the run. */

import { onOff, text } from "../state/fields.js";
import { ownState } from "../state/own.js";

/** `shown`: folded away, it asks for nothing and measures nothing. `heads`: whose heads are drawn, where a stack has several attentions; `layer`: the open one, as stack.layer. */
export const own = ownState("river", { shown: onOff(true), heads: text(null), layer: text(null) });

/** @typedef {{stack: string, layer: number}} Open */

/** The open layer, if the model has it. @param {{own: import("../state/own.js").OwnValues}} state @param {import("./reach.js").Reach[]} rolled @returns {Open|null} */
export function openLayer(state, rolled) {
  const [stack, layer] = (own.of(state).layer ?? "").split(".");
  const known = rolled.find(({ river }) => river.stack === stack)?.river;
  return known && /^\d+$/.test(layer ?? "") && Number(layer) < known.layers ? { stack, layer: Number(layer) } : null;
}

/** The change that opens a layer, or closes it if it is open. @param {Open|null} open @param {Open|null} now */
export const opening = (open, now) =>
  own.patch({
    layer: open && !(now?.stack === open.stack && now.layer === open.layer) ? `${open.stack}.${open.layer}` : null,
  });
