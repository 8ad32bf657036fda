/** A row of buttons, one of which is pressed. */

import { h, update } from "./dom.js";

/**
 * @template {string} Name
 * @param {string} label  what is chosen @param {readonly Name[]} names  the choices
 * @param {string} testid  a button has `${testid}-${name}` @param {(name: Name) => string} word  on its button
 */
export function segment(label, names, testid, word) {
  const button = (name) => h("button", { type: "button", dataset: { testid: `${testid}-${name}` } }, word(name));
  const buttons = /** @type {Record<Name, HTMLButtonElement>} */ (
    Object.fromEntries(names.map((name) => [name, button(name)]))
  );
  return {
    box: h("div", { class: "seg", role: "group", "aria-label": label }, Object.values(buttons)),
    buttons,
    /** @param {string} on @param {(name: Name) => void} pick @param {(name: Name) => boolean} [has] */
    show(on, pick, has = () => true) {
      for (const name of names) {
        update(buttons[name], { "aria-pressed": name === on, hidden: !has(name) });
        buttons[name].onclick = () => pick(name);
      }
    },
  };
}
