/** What one head passes on to one token: every value, multiplied by its weight, and the sum. */

import { tokenLabel } from "../../../model/labels.js";
import { h, keepingFocus, replace } from "../../../ui/dom.js";
import { percent } from "../../../ui/format.js";
import { t } from "../../../ui/i18n.js";
import { rowOf } from "../live.js";
import { rolesOf } from "../measures/attention.js";
import { chooser } from "./chooser.js";
import { strip } from "./strip.js";

/**
 * @import { Token } from "../../../model/labels.js"
 * @import { Figure } from "./index.js"
 */

/** @type {Figure} */
export async function draw(root, live, { head, query, ...place }) {
  const { keys, roles } = await rolesOf(live, place, ["pattern", "v", "z"]);
  const values = keys.map((_, key) => rowOf(roles[1], key, head));
  const most = Math.max(...values.flatMap((value) => Array.from(value, Math.abs)));
  const title = h("h2", { class: "lesson-caption" }, t("lesson.passed.title"));
  const names = ["token", "weight", "value", "product"].map((name) => h("span", null, t(`lesson.passed.${name}`)));

  /** @param {number} at */
  function show(at) {
    const weights = rowOf(roles[0], at, head);
    const z = rowOf(roles[2], at, head);
    const lines = keys.slice(0, at + 1).map((token, key) => line(token, weights[key], values[key], most));
    const sum = h("div", { class: "passed total" }, h("b", null, t("lesson.passed.sum")), strip(z, most, "tells"));
    keepingFocus(root, () =>
      replace(root, title, chooser(keys, at, show), h("div", { class: "passed names dim" }, names), lines, sum),
    );
  }
  show(query);
}

/** @param {Token} token @param {number} weight @param {Float32Array} value @param {number} most */
const line = (token, weight, value, most) =>
  h(
    "div",
    { class: "passed" },
    h("span", { class: "mono" }, tokenLabel(token)),
    h("span", { class: "mono" }, percent(weight, 0)),
    strip(value, most),
    strip(
      value.map((one) => weight * one),
      most,
    ),
  );
