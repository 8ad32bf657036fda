/**
 * The walk of one token, or of the whole sequence, through one block: formula by formula, each beside its matrices,
 * and for any element of a result the row and the column it comes from.
 */

import { lazily } from "../../data/lazily.js";
import { knownOf } from "./needs.js";
import { own } from "./own.js";
import { stationOf } from "./ribbon.js";
import { openStep, stepsOf } from "./steps.js";

const openOf = (state, model) => openStep(stepsOf(model, state), model, state);

export default {
  id: "computation",
  ofHead: true,
  called: (state, model) => openOf(state, model).id,
  own,
  within: (state, model) => stationOf(openOf(state, model)),
  saysWhatLacks: true, // the walk continues without it
  needs(state, model) {
    const step = openOf(state, model);
    return knownOf(step).needs(step, model);
  },
  inspector: (state, model) => knownOf(openOf(state, model)).inspector,
  gives: (state, model) => knownOf(openOf(state, model)).gives,
  ...lazily(() => import("./draw.js")),
};
