/**
 * Cuts: interventions that keep one query from seeing one key, in all heads of a layer. The softmax spreads over the
 * other keys. No DOM.
 */

/**
 * @import { Intervention } from "../state/run.js"
 * @import { Attention } from "./description.js"
 */

/**
 * @typedef {{attention: string, layer: number, query: number, key: number}} Edge
 */

/** @param {Edge} edge @returns {Intervention} */
const cutting = ({ attention, layer, query, key }) => ({
  kind: "mask",
  where: { attention, layer, role: "mask", query, key },
  allow: false,
});

/** @param {Intervention} one */
const isCut = ({ kind, where, allow }) =>
  kind === "mask" &&
  allow === false &&
  where.head == null &&
  Number.isInteger(where.query) &&
  Number.isInteger(where.key);

/** What identifies an edge. @param {Edge} edge */
export const edgeKey = ({ attention, layer, query, key }) => `${attention} ${layer} ${query} ${key}`;

/**
 * The edges that a run cuts, in its order.
 * @param {Intervention[]} interventions @param {Attention[]} attentions  of the model
 * @returns {Edge[]}
 */
export function cutsOf(interventions, attentions) {
  const first = attentions[0]?.id;
  return interventions
    .filter(isCut)
    .map(({ where: { attention = first, layer, query, key } }) => ({ attention, layer, query, key }));
}

/** Without its cuts. @param {Intervention[]} interventions */
export const uncut = (interventions) => interventions.filter((one) => !isCut(one));

/**
 * Cut these edges too; if all of them are cut, restore them.
 * @param {Intervention[]} interventions @param {Edge[]} edges @param {Attention[]} attentions
 * @returns {Intervention[]}
 */
export function toggled(interventions, edges, attentions) {
  const known = new Set(cutsOf(interventions, attentions).map(edgeKey));
  const missing = edges.filter((edge) => !known.has(edgeKey(edge)));
  if (missing.length) return [...interventions, ...missing.map(cutting)];
  const restored = new Set(edges.map(edgeKey));
  return interventions.filter((one) => !isCut(one) || !restored.has(edgeKey(cutsOf([one], attentions)[0])));
}
