/** The name of a head, with its attention if the model has several; and how many there are. */

import { attentionOf, attentionsOf, showsMeans } from "../model/description.js";
import { hasString, t } from "./i18n.js";

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

/** "Layer 4 · Head 7", "Cross-attention · Layer 1 · Head 2", "Layer 4 · Features 0–31". @param {any} model @param {Head} head */
export function headTitle(model, head) {
  const { of, vars } = columnOf(model, head);
  return joined([attentionName(model, head.attention), t(`matrix.title${of}`, vars)], " · ");
}

/** "layer 4, head 7", in a sentence. @param {any} model @param {Head} head */
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

/** "4 · 7", in a table. @param {any} model @param {Head} head */
export function headShort(model, { attention = null, layer, head }) {
  const several = attentionsOf(model).length > 1;
  return joined([several ? t(`attention.short.${attentionOf(model, attention).id}`) : null, `${layer} · ${head}`], " ");
}

/** For the name of a file: ["cross", "layer1", "head2"]. @param {any} model @param {Head} head */
export function headParts(model, { attention = null, layer, head }) {
  const own = attentionsOf(model).length > 1 ? [attentionOf(model, attention).id] : [];
  return [...own, `layer${layer}`, `head${head}`];
}

/** The page's name for a kind of head, or the server's if it has none. @param {string} kind */
export const nameOf = (kind) => (hasString(`labels.${kind}.name`) ? t(`labels.${kind}.name`) : kind);

const joined = (parts, between) => parts.filter(Boolean).join(between);

/** "6 layers" and "8 heads". @param {{n_layer: number, n_head: number}} model */
export const sizeOf = ({ n_layer, n_head }) => ({
  layers: t("shape.layers", { n: n_layer }),
  heads: t("shape.heads", { n: n_head }),
});
