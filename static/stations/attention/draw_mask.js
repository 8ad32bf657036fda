/** M, with its reasons: 0 is added where a query may look at a key, −∞ where something forbids it. */

import { cssColour } from "../../chart/colour.js";
import { has } from "../../model/description.js";
import { h, perRoot, setText } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { buildStation, drawHead } from "../opened_head.js";
import { drawSquare, REASONS, reasonOf } from "../query_key.js";
import * as formulas from "./formulas.js";
import { blindRows, nothingWords } from "./mask_words.js";

const partsOf = perRoot((root) => {
  const parts = buildStation(root);
  const why = h("p", { class: "why dim", dataset: { testid: "why-infinity" } });
  const place = h("div", null);
  parts.body.append(why, place);
  return { ...parts, why, place };
});

/** What each kind of cell adds to the score, and its colour over the hatching. The last reason that applies shows. */
const TINTS = { causal: null, padding: "--warn", window: "--k", edited: "--q" };

export function draw(root, trace, state, actions) {
  const parts = partsOf(root);
  const { mask } = trace.detail;
  const nKey = trace.keys.tokens.length;
  const forbidden = mask.data.reduce((count, reasons) => count + (reasons ? 1 : 0), 0);
  const note = t("matrix.mask_note", { forbidden, cells: mask.data.length });
  drawHead(parts, trace.model, state, {
    formula: [has(trace.attention, "scores") ? formulas.masked() : formulas.plain("M")],
    note,
    legend: legend(mask.data),
  });
  const blind = blindRows(mask);
  const sentences = [forbidden && t("masks.infinity"), blind.length && nothingWords(blind)];
  setText(parts.why, sentences.filter(Boolean).join(" "));
  drawSquare(parts.place, trace, state, actions, {
    id: "mask",
    title: t("matrix.mask"),
    values: mask.data,
    reasons: mask.data,
    hatched: forbidden > 0,
    scale: maskScale(),
    ink: cssColour("--ink-2"),
    cellText: (reasons) => (reasons ? "−∞" : "0"),
    words(query, key) {
      const reasons = mask.data[query * nKey + key];
      if (!reasons) return ["matrix.mask_allowed", { value: "0" }];
      return ["matrix.mask_forbidden", { value: "−∞", reason: reasonOf(reasons) }];
    },
  });
}

/** @param {number} reasons  a set, bit by bit */
function namesOf(reasons) {
  return Object.keys(REASONS).filter((name) => reasons & REASONS[name]);
}

/** A colour for each set of reasons: two tints are darker than one. */
function colourOf(reasons) {
  if (reasons === 0) return cssColour("--accent-soft");
  const names = namesOf(reasons);
  const tint = TINTS[names.findLast((name) => TINTS[name]) ?? ""];
  return tint ? `${cssColour(tint)}${names.length > 1 ? "8c" : "40"}` : `${cssColour("--panel")}00`;
}

function maskScale() {
  const stops = Array.from({ length: 16 }, (_, reasons) => colourOf(reasons));
  return { stops, min: 0, max: 15, seen: [0, 15], steps: true };
}

/** The legend's entries: allowed, and each set of reasons that occurs. @param {Uint8Array} mask */
function legend(mask) {
  const sets = [...new Set(mask)].filter(Boolean).sort((a, b) => a - b);
  const item = (reasons, name, added) => [
    h("span", { class: reasons ? "swatch" : "swatch allowed", style: { "background-color": colourOf(reasons) } }),
    h("span", null, name, " ", h("b", { class: "mono" }, added)),
  ];
  const nameOf = (reasons) =>
    namesOf(reasons)
      .map((name) => t(`matrix.mask.${name}`))
      .join(" + ");
  const items = [item(0, t("matrix.mask.allowed"), "+ 0"), sets.map((set) => item(set, nameOf(set), "+ −∞"))];
  return h("span", { class: "legend", dataset: { testid: "legend" } }, items);
}
