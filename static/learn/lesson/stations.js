/** The stations of the ribbon that lessons and the glossary open, by their own names: the state that opens each. */

/** @type {Object<string, import("../../state/store.js").Patch>} */
export const STATIONS = {
  tokens: { view: "tokens" },
  embedding: { view: "embedding" },
  qkv: { view: "qkv" },
  scores: { view: "scores" },
  mask: { view: "mask" },
  weights: { view: "weights" },
  av: { view: "av" },
  ffn: { view: "ffn" },
  residual: { view: "residual" },
  lens: { view: "lens" },
  prediction: { view: "prediction" },
  computation: { view: "computation" },
};
