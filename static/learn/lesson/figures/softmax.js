/** One real row of scores and its softmax; a slider multiplies the scores. */

import { attentionOf } from "../../../model/description.js";
import { tokenLabel } from "../../../model/labels.js";
import { h, replace, setText } from "../../../ui/dom.js";
import { number, percent } from "../../../ui/format.js";
import { t } from "../../../ui/i18n.js";
import { rowOf, softmax } from "../live.js";
import { rolesOf } from "../measures/attention.js";

/** @import { Figure } from "./index.js" */

/** @type {Figure} */
export async function draw(root, live, { head, query, ...at }) {
  const { keys, roles } = await rolesOf(live, at, ["scores"]);
  const scores = rowOf(roles[0], query, head).slice(0, query + 1);
  const most = Math.sqrt(attentionOf(live.model).d_head);
  const rows = h("div", { class: "row-bars" });
  const names = h(
    "div",
    { class: "row-bar names dim" },
    ["key", "score", "weight"].map((name) => h("span", null, t(`lesson.softmax.${name}`))),
  );
  const times = h("output", { class: "mono" });
  const slider = h("input", {
    type: "range",
    min: 0,
    max: most,
    step: 0.05,
    value: 1,
    "aria-label": t("lesson.softmax.times"),
    dataset: { testid: "lesson-times" },
    on: { input: show },
  });
  const label = h("label", { class: "lesson-slider tells" }, h("span", null, t("lesson.softmax.times")), slider, times);
  replace(root, h("h2", { class: "lesson-caption" }, t("lesson.softmax.title")), names, rows, label);

  function show() {
    const by = Number(slider.value);
    const scaled = scores.map((score) => score * by);
    const weights = softmax(scaled);
    replace(
      rows,
      weights.map((weight, key) => bar(tokenLabel(keys[key]), scaled[key], weight)),
    );
    setText(times, `× ${number(by, 2)}`);
  }
  show();
}

/** @param {string} name @param {number} score @param {number} weight */
const bar = (name, score, weight) =>
  h(
    "div",
    { class: "row-bar" },
    h("span", { class: "mono" }, name),
    h("span", { class: "mono score" }, number(score, 1)),
    h("span", { class: "toy-bar tells" }, h("i", { style: { width: `${100 * weight}%` } })),
    h("span", { class: "mono tells" }, percent(weight)),
  );
