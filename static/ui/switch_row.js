/** A switch with its meaning and its current effect. */

import { h, newId, setText } from "./dom.js";

/**
 * @param {string} name @param {string} label @param {(on: boolean) => void} change
 * @returns {{row: HTMLElement, set: (on: boolean, about: string, now: string, fixed?: boolean) => void}}  `fixed`: it cannot be switched
 */
export function switchRow(name, label, change) {
  const about = h("small", { id: newId(`${name}-about`) });
  const now = h("small", { class: "now", "aria-live": "polite", dataset: { testid: `${name}-now` } });
  const toggle = /** @type {HTMLButtonElement} */ (
    h("button", {
      class: "toggle",
      type: "button",
      role: "switch",
      "aria-label": label,
      "aria-describedby": about.id,
      dataset: { testid: `switch-${name}` },
      on: { click: () => change(toggle.getAttribute("aria-checked") !== "true") },
    })
  );
  const text = h("div", { class: "t", on: { click: () => toggle.click() } }, label, about, now);
  return {
    row: h("div", { class: "sw", dataset: { switch: name } }, toggle, text),
    set(on, aboutText, nowText, fixed = false) {
      toggle.disabled = fixed;
      toggle.setAttribute("aria-checked", String(on));
      setText(about, aboutText);
      setText(now, nowText);
      now.hidden = !nowText;
    },
  };
}
