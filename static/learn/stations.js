/** The stations of the ribbon that lessons and the glossary open, by their own names: the state that opens each. */

/** @import { Patch } from "../state/store.js" */

/** @type {Object<string, Patch>} */
export const STATIONS = {
  tokens: { view: "tokens" },
  embedding: { view: "embedding" },
  qkv: { view: "qkv" },
  scores: { view: "attention", own: { attention: { step: "scaled" } } },
  mask: { view: "attention", own: { attention: { step: "masked" } } },
  weights: { view: "attention", own: { attention: { step: "weights" } } },
  av: { view: "av" },
  ffn: { view: "ffn" },
  residual: { view: "residual" },
  lens: { view: "prediction", own: { prediction: { tab: "layers" } } },
  prediction: { view: "prediction", own: { prediction: { tab: "token" } } },
  computation: { view: "computation" },
};
