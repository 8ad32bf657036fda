/** M, as the reasons it is made of: 0 is added where a query may look at a key, −∞ where something forbids it. */

import { h, perRoot } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { cssColour } from "../lib/colour.js";
import * as formulas from "./formulas.js";
import { buildStation, drawHead } from "./opened_head.js";
import { REASONS, drawSquare, reasonOf } from "./query_key.js";

const partsOf = perRoot(buildStation);

/** What each kind of cell adds to the score, and its colour over the hatching. The last reason that applies shows. */
const TINTS = { causal: null, padding: "--warn", window: "--k", edited: "--q" };

export default {
  id: "mask",
  needs: ["detail"],
  draw(root, trace, state, actions) {
    const parts = partsOf(root);
    const { mask } = trace.detail;
    const n = trace.tokens.length;
    const forbidden = mask.data.reduce((count, reasons) => count + (reasons ? 1 : 0), 0);
    const note = t("matrix.mask_note", { forbidden, cells: n * n });
    drawHead(parts, state, { formula: [formulas.masked()], note, legend: legend(mask.data) });
    drawSquare(parts.body, trace, state, actions, {
      id: "mask",
      title: t("matrix.mask"),
      values: mask.data,
      hatched: forbidden > 0,
      scale: maskScale(),
      ink: cssColour("--ink-2"),
      cellText: (reasons) => (reasons ? "−∞" : "0"),
      words(query, key) {
        const reasons = mask.data[query * n + key];
        if (!reasons) return ["matrix.mask_allowed", { value: "0" }];
        return ["matrix.mask_forbidden", { value: "−∞", reason: reasonOf(reasons) }];
      },
    });
  },
};

function maskScale() {
  const clear = `${cssColour("--panel")}00`;
  const colours = Array.from({ length: 16 }, (_, reasons) => {
    if (reasons === 0) return cssColour("--accent-soft");
    const tint = Object.keys(REASONS).findLast((name) => reasons & REASONS[name] && TINTS[name]);
    return tint ? `${cssColour(TINTS[tint])}40` : clear;
  });
  return { stops: colours, min: 0, max: 15, seen: [0, 15], steps: true };
}

/** What is there: allowed, and each reason that forbids a cell. @param {Uint8Array} mask */
function legend(mask) {
  const all = mask.reduce((bits, reasons) => bits | reasons, 0);
  const names = Object.keys(REASONS).filter((name) => all & REASONS[name]);
  const item = (name, added) => [
    h("span", { class: `swatch ${name}` }),
    h("span", null, t(`matrix.mask.${name}`), " ", h("b", { class: "mono" }, added)),
  ];
  return h("span", { class: "legend", dataset: { testid: "legend" } }, item("allowed", "+ 0"), names.map((name) => item(name, "+ −∞")));
}
