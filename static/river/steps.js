/** Into a layer: its steps in the order of the forward pass, each a way to its station. */

import { hasResidual, sublayersOf } from "../model/description.js";
import { h, keepingFocus, replace } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { layerTitle } from "./look.js";
import { opening } from "./own.js";

/**
 * @typedef {import("./own.js").Open} Open  @typedef {import("../stations/index.js").Actions} Actions
 * @typedef {{name: string, view: string, attention: string|null}} Step  `name`: of the catalogue
 */

/** @param {any} model @param {Open} open @returns {Step[]} */
export function stepsOf(model, { stack, layer }) {
  const sublayers = sublayersOf(model, stack, layer);
  const [last] = sublayers.flatMap((one) => (one.kind === "attention" ? [one.attention] : [])).reverse();
  return sublayers.flatMap((one) => {
    const attention = one.kind === "attention" ? one.attention : (last ?? null);
    /** @param {string} name @param {string} view @returns {Step} */
    const step = (name, view) => ({ name, view, attention });
    const body =
      one.kind === "attention"
        ? [step("qkv", "qkv"), step("heads", "weights"), step("w_o", "av")]
        : [step("ffn", "ffn")];
    const norm = one.norm ? [step("norm", "computation")] : [];
    const add = hasResidual(one) ? [step("add", "residual")] : [];
    if (one.norm?.place === "pre") return [...norm, ...body, ...add];
    return one.norm?.place === "post" ? [...body, ...add, ...norm] : [...body, ...norm, ...add];
  });
}

/**
 * The way back, and the steps of the open layer; nothing while none is open.
 * @param {HTMLElement} root @param {any} model @param {Open|null} open @param {Actions} actions
 */
export function drawSteps(root, model, open, actions) {
  root.hidden = open === null;
  if (!open) return replace(root);
  /** @param {Step} step @param {number} i */
  const button = ({ name, view, attention }, i) =>
    h(
      "button",
      {
        ...{ class: "link", type: "button", dataset: { focus: `${i}`, step: name } },
        on: {
          click: () => actions.set({ view, layer: open.layer, attention }),
        },
      },
      t(`river.step.${name}`),
    );
  const back = h(
    "button",
    {
      class: "link",
      type: "button",
      dataset: { focus: "back", testid: "river-back" },
      on: { click: () => actions.set(opening(null, open)) },
    },
    t("river.title"),
  );
  const parts = [back, h("b", null, layerTitle(open, open.layer, false)), ...stepsOf(model, open).map(button)];
  keepingFocus(root, () =>
    replace(
      root,
      parts.map((part, i) => [i ? " › " : null, part]),
    ),
  );
}
