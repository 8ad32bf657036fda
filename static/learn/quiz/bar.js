/** The line above the panels while the quiz is on: what it does, the score, and how to end it. */

import { lazy } from "../../data/lazily.js";
import { h, perRoot, replace, setText } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { questionNeeds } from "./places.js";
import { onScore, scoreNow } from "./score.js";

/** What is asked; until it is here, the covers wait. */
export const questions = lazy(() => import("./questions/index.js"));

const partsOf = perRoot((root) => {
  const score = h("b", { dataset: { testid: "quiz-score" } });
  const end = h("button", { class: "btn quiet", type: "button", dataset: { testid: "quiz-end" } }, t("quiz.end"));
  const show = () => {
    const { right, n } = scoreNow();
    setText(score, n ? t("quiz.score", { right, of: n }) : "");
  };
  onScore(show);
  show();
  replace(root, h("span", null, t("quiz.on")), " ", score, h("span", { class: "grow" }), end);
  return { end };
});

export default {
  id: "quiz",
  frame: { place: "top", className: "quiz-bar", title: "quiz.button" },
  shown: ({ quiz }) => quiz,
  needs: questionNeeds,
  load: questions.load,
  draw(root, trace, state, actions) {
    partsOf(root).end.onclick = () => actions.set({ quiz: false });
  },
};
