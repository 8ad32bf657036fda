/**
 * Of which mechanisms the page can say how a weight is made, and what it needs for that. The arithmetic is in scoring.js
 * (q·k, turned or with a part for the distance) and feature_weights.js (e^(w + k), without q). No DOM.
 */

import { has, identityOf, parameterOf, sumsValues, tapOf, weighsFeatures } from "./description.js";
import { tensors, weights } from "./needs.js";

/** @import { Attention } from "./description.js" */

/** The parts of scores to which the distance adds. */
const DISTANCE = ["content_scores", "relative_scores"];

/** @param {Attention} attention */
export const hasDistance = (attention) => (attention.parts?.scores ?? []).join() === DISTANCE.join();

/** The role of positions alone that is added to the products, where there is one (T5's bias, ALiBi). @param {Attention} attention @returns {string|null} */
export function biasRole(attention) {
  const [content, added, ...more] = attention.parts?.scores ?? [];
  return content === DISTANCE[0] && added && added !== DISTANCE[1] && !more.length ? added : null;
}

/** What its products are divided by: √d_head, or 1 in models that do not scale them. @param {Attention} attention */
export const divisorOf = ({ scale, d_head }) => (scale ? 1 / scale : Math.sqrt(d_head));

/** The roles that are multiplied: q and k, or what they are turned to; null where scores are something else. @param {Attention} attention @returns {string[]|null} */
export function multiplied(attention) {
  const inParts = hasDistance(attention) || biasRole(attention) !== null;
  const stated = identityOf(attention, inParts ? DISTANCE[0] : "scores");
  return stated?.op === "scaled_product" ? stated.of : null;
}

/** Whether the page can say what its scores are made of. @param {Attention|null|undefined} attention */
export const knowsScores = (attention) => Boolean(attention && multiplied(attention));

/** Whether its z are the weights times what `valuesFor` returns. @param {Attention|null|undefined} attention */
export const knowsValues = (attention) => sumsValues(attention) || Boolean(attention && hasDistance(attention));

/** What `scoringOf` reads beside the detail. @param {Attention} attention @param {number} layer */
export function needsOfScores(attention, layer) {
  const turned = (multiplied(attention) ?? []).filter((role) => role !== "q" && role !== "k");
  const taps = [...turned, ...(hasDistance(attention) ? ["distance"] : [])].filter((role) => has(attention, role));
  const tables = hasDistance(attention) ? ["table_k", "table_v"] : [];
  return [
    ...tensors(...taps.map((role) => tapOf(attention, layer, role))),
    ...weights(...tables.map((role) => parameterOf(attention, layer, role))),
  ];
}

/** The learned numbers that a weight is made from, beside k: RWKV's. */
export const LEARNED = ["decay", "bonus"];

/** Whether its weights are e^(position + k), normalised. @param {Attention|null|undefined} attention */
export const weighsKeys = (attention) =>
  weighsFeatures(attention) ||
  attention?.identities.some(({ op, gives }) => op === "feature_softmax" && gives === "weights") === true;

/**
 * What `partsOf` reads beside the detail; with `own`, the model's own weights too.
 * @param {Attention} attention @param {number} layer @param {boolean} own  query × key × feature: large
 */
export const needsOfWeights = (attention, layer, own) => [
  ...(has(attention, "position_bias") ? tensors(tapOf(attention, layer, "position_bias")) : []),
  ...weights(...LEARNED.map((name) => parameterOf(attention, layer, name))),
  ...(own && weighsFeatures(attention) ? tensors(tapOf(attention, layer, "weights")) : []),
];
