/** Heads in words and signs: the name of a head (with its attention if the model has several), the sign of its kind, its label in title bars. */

import { attentionOf, attentionsOf, showsMeans, stacksOf } from "../model/description.js";
import { h, setText, svg } from "./dom.js";
import { hasString, t } from "./i18n.js";

// The label of the open head in the title bar of every station that shows it.

/** A chip for a title bar; empty until it is set. */
export const headChip = () => h("span", { class: "role head-chip", hidden: true, dataset: { testid: "head-chip" } });

/**
 * @param {HTMLElement} page  the page with the chips
 * @param {string} words  "" if no label fits @param {string} [title]
 */
export function setHeadChips(page, words, title = "") {
  for (const chip of /** @type {NodeListOf<HTMLElement>} */ (page.querySelectorAll(".head-chip"))) {
    chip.hidden = words === "";
    chip.title = title;
    setText(chip, words);
  }
}

// A sign for each kind of head: its typical picture, drawn small.

/** In the order of model/explain/head_labels.py, more specific kinds first. Paths in a 12 × 12 square. @type {Record<string, string>} */
const PATHS = {
  previous: "M10 6H2.6M5.6 2.8 2.4 6l3.2 3.2",
  induction: "M2 9.6V6.4C2 1.6 9.4 1.6 9.4 6.2V8M6.8 6.4 9.4 9l2.2-2.6",
  same: "M2 4.2h8M2 7.8h8",
  self: "M9.6 4.4A4 4 0 1 0 10 6.6M9.9 1.6V4.6H6.9",
  alignment: "M1.6 1.6 10.4 10.4M1.6 6.2 5.8 10.4M6.2 1.6 10.4 5.8",
  spread: "M2.4 2.4h.1M6 2.4h.1M9.6 2.4h.1M2.4 6h.1M6 6h.1M9.6 6h.1M2.4 9.6h.1M6 9.6h.1M9.6 9.6h.1",
  first: "M2 1.6V10.4M10.6 6H4.8M7.4 3.4 4.8 6l2.6 2.6",
};

/** Every kind that has a sign. */
export const HEAD_KINDS = Object.keys(PATHS);

/** @param {string} kind */
export function headMark(kind) {
  return svg(
    "svg",
    { viewBox: "0 0 12 12", class: `head-mark ${kind}`, "aria-hidden": "true" },
    svg("path", { d: PATHS[kind] ?? "" }),
  );
}

/** An eye, struck where something is off. */
export const eyeSign = () =>
  svg(
    "svg",
    { viewBox: "0 0 16 12", class: "eye-sign", "aria-hidden": "true" },
    svg("path", { d: "M1 6C4 1 12 1 15 6C12 11 4 11 1 6Z" }),
    svg("circle", { cx: 8, cy: 6, r: 2 }),
    svg("path", { class: "strike", d: "M2 11L14 1" }),
  );

/** @typedef {{attention?: string|null, layer: number, head: number}} Head  `attention`: null is the model's last one */

/** "Cross-attention", or null if there is only one. @param {any} model @param {string|null} [id] */
export function attentionName(model, id = null) {
  return attentionsOf(model).length > 1 ? t(`attention.${attentionOf(model, id).id}`) : null;
}

/** What a column of the overview is: a head, or a group of features whose weights are averaged. @param {any} model @param {Head} head @returns {{of: string, vars: Record<string, number>}} */
function columnOf(model, { attention = null, layer, head }) {
  const one = attentionOf(model, attention);
  if (!showsMeans(one)) return { of: "", vars: { layer, head } };
  return { of: "_group", vars: { layer, first: head * one.d_head, last: (head + 1) * one.d_head - 1 } };
}

/** "Head 4·7", "Cross-attention · Head 1·2", "Layer 4 · Features 0–31". @param {any} model @param {Head} head */
export function headTitle(model, head) {
  const { of, vars } = columnOf(model, head);
  return joined([attentionName(model, head.attention), t(`matrix.title${of}`, vars)], " · ");
}

/** "Layer 3 · FFN", "Decoder · Layer 1 · FFN". @param {any} model @param {string} stack @param {number} layer */
export const ffnTitle = (model, stack, layer) =>
  t(stacksOf(model).length > 1 ? `ffn.title.${stack}` : "ffn.title", { layer });

/** "Layer 3", "Decoder 3". @param {{stack: string}} of @param {number} layer */
export const layerTitle = ({ stack }, layer) => t(`river.layer_${stack}`, { layer });

/** "head 4·7", in a sentence. @param {any} model @param {Head} head */
export function headWords(model, head) {
  const { of, vars } = columnOf(model, head);
  return joined([attentionWords(model, head.attention), t(`heads.cell${of}`, vars)], t("compare.comma"));
}

/** "cross-attention", in a sentence, or null if there is only one. @param {any} model @param {string|null} [id] */
export function attentionWords(model, id = null) {
  const name = attentionName(model, id);
  return name && name[0].toLowerCase() + name.slice(1);
}

/** The same at the beginning of a sentence. @param {any} model @param {Head} head */
export function headLabel(model, head) {
  const words = headWords(model, head);
  return words[0].toUpperCase() + words.slice(1);
}

/** "4·7", in a table. @param {any} model @param {Head} head */
export function headShort(model, { attention = null, layer, head }) {
  const several = attentionsOf(model).length > 1;
  return joined([several ? t(`attention.short.${attentionOf(model, attention).id}`) : null, `${layer}·${head}`], " ");
}

/** For the name of a file: ["cross", "layer1", "head2"]. @param {any} model @param {Head} head */
export function headParts(model, { attention = null, layer, head }) {
  const own = attentionsOf(model).length > 1 ? [attentionOf(model, attention).id] : [];
  return [...own, `layer${layer}`, `head${head}`];
}

/** The page's name for a kind of head, or the server's if it has none. @param {string} kind */
export const headKindName = (kind) => (hasString(`labels.${kind}.name`) ? t(`labels.${kind}.name`) : kind);

const joined = (/** @type {(string|null)[]} */ parts, /** @type {string} */ between) =>
  parts.filter(Boolean).join(between);

/** "6 layers" and "8 heads". @param {{n_layer: number, n_head: number}} model */
export const sizeOf = ({ n_layer, n_head }) => ({
  layers: t("shape.layers", { n: n_layer }),
  heads: t("shape.heads", { n: n_head }),
});
