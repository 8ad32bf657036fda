/** What the model would say if it stopped after each layer (the logit lens). No DOM. */

import { answeringStack } from "../../model/description.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Answer } from "./chosen_token.js"
 */

/** @typedef {{answer: Answer, fresh: boolean, final: boolean}} Next  `fresh`: another than a layer before */

/**
 * One for each layer; [] where no lens is there.
 * @param {ModelTrace} trace @param {number} row  the chosen token @returns {Next[]}
 */
export function nextSoFar({ explained: { lens }, model, classes }, row) {
  if (!lens || lens.refused) return [];
  const at = classes ? 0 : lens.rows.indexOf(row);
  if (at < 0) return [];
  const depths = answeringStack(model).layers.length;
  const ids = lens.top.map((/** @type {number[][][]} */ depth) => depth[at][0]);
  return Array.from({ length: depths }, (_, layer) => {
    const depth = layer + 1;
    const id = ids[depth];
    const p = lens.probability[depth][at][0];
    const answer = classes
      ? { id, p, token: null, name: lens.classes[id] }
      : { id, p, token: lens.tokens[id], name: null };
    return { answer, fresh: layer > 0 && ids[depth - 1] !== id, final: id === ids[depths] };
  });
}
