/** Prediction: row t's logits as probabilities of the token t+1, or what each layer would have answered. */

import { lazily } from "../../data/lazily.js";
import { predictsTokens } from "../../model/description.js";
import { own } from "./own.js";
import { TABS, tabOf, tabsOf } from "./tabs.js";

const frame = lazily(() => import("./draw.js"));

export default {
  id: "prediction",
  gives: "end",
  own,
  inspector: "logit",
  has: (model) => tabsOf(model).length > 0,
  called: (state, model) => (tabOf(state, model) === "layers" ? "by-layer" : "prediction"),
  // By layer, the last depth must equal the model's own prediction; a classifier's classes come with the trace.
  needs: (state, model) => [
    ...(tabOf(state, model) === "layers" ? ["explain:lens"] : []),
    ...(predictsTokens(model) ? ["prediction"] : []),
  ],
  draw: frame.draw,
  load: (state, model) =>
    Promise.all([frame, ...(state ? [TABS[tabOf(state, model)]] : Object.values(TABS))].map(({ load }) => load())),
};
