/** A = softmax(QKᵀ/√d_k + M): what the open head looks at; or before | after a change of the masks. */

import { lazily } from "../../data/lazily.js";
import { isCompared } from "../../model/compare/runs.js";
import { chosenIn } from "./chosen.js";
import { own } from "./own.js";

/** Lines of other heads than the open one need them all. @param {import("../../state/store.js").State} state */
function formNeeds(state) {
  const { as, heads } = own.of(state);
  return !state.compare && as === "lines" && heads !== null ? ["heads"] : [];
}

const picture = lazily(() => import("./draw_weights.js"));

export default {
  id: "weights",
  ofHead: true,
  gives: "attention",
  roles: ["overview"],
  own,
  needs: (state, model) => (isCompared(state, model) ? ["detail", "other"] : ["detail", ...formNeeds(state)]),
  draw: picture.draw,
  load: (state, model) => Promise.all([picture, ...chosenIn(state, model)].map(({ load }) => load())),
};
