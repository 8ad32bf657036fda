/** The masks panel: each switch says what it means, and what it does right now. */

import { h, replace, setText } from "../lib/dom.js";
import { integer, percent } from "../lib/format.js";
import { t } from "../lib/i18n.js";

/** @param {HTMLElement} root @param {import("./all.js").Context} context @returns {import("./all.js").Draw} */
export function createMasks(root, { actions }) {
  const causal = switchRow("causal", t("masks.causal"), (on) => actions.set({ causal: on }));
  const compare = switchRow("compare", t("masks.compare"), (on) => actions.set({ compare: on }));
  replace(root, causal.row, compare.row);

  return (trace, state) => {
    causal.set(state.causal, t("masks.causal_about"), trace && trace.causal === state.causal ? effect(trace, state) : "");
    compare.set(state.compare, t(state.causal ? "masks.compare_about_on" : "masks.compare_about_off"), "");
  };
}

/** @param {string} name @param {string} label @param {(on: boolean) => void} change */
function switchRow(name, label, change) {
  const about = h("small", { id: `${name}-about` });
  const now = h("small", { class: "now", "aria-live": "polite", dataset: { testid: `${name}-now` } });
  const toggle = h("button", {
    class: "toggle",
    type: "button",
    role: "switch",
    "aria-label": label,
    "aria-describedby": about.id,
    dataset: { testid: `switch-${name}` },
    on: { click: () => change(toggle.getAttribute("aria-checked") !== "true") },
  });
  const text = h("div", { class: "t", on: { click: () => toggle.click() } }, label, about, now);
  return {
    row: h("div", { class: "sw" }, toggle, text),
    set(on, aboutText, nowText) {
      toggle.setAttribute("aria-checked", String(on));
      setText(about, aboutText);
      setText(now, nowText);
      now.hidden = !nowText;
    },
  };
}

/** What the causal mask does at this moment, counted in the trace. */
function effect(trace, state) {
  const mask = trace.mask(state.layer, state.head);
  const forbidden = mask.reduce((count, reasons) => count + (reasons ? 1 : 0), 0);
  if (forbidden) return t("masks.on_now", { forbidden: integer(forbidden), cells: integer(mask.length) });
  const { detail } = trace;
  if (detail?.layer !== state.layer || detail?.head !== state.head) return t("masks.off_now_short");
  return t("masks.off_now", { share: percent(laterShare(detail.pattern)) });
}

/** The part of a head's weight that goes to keys after their query. @param {import("../data/model_trace.js").Matrix} pattern */
function laterShare({ data, shape: [nQuery, nKey] }) {
  let later = 0;
  for (let query = 0; query < nQuery; query++) {
    for (let key = query + 1; key < nKey; key++) later += data[query * nKey + key];
  }
  return later / nQuery;
}
