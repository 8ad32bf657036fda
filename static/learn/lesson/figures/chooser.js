/** The tokens of a sentence as buttons: the chosen one is the query. */

import { tokenLabel } from "../../../model/labels.js";
import { h } from "../../../ui/dom.js";
import { t } from "../../../ui/i18n.js";

/** @import { Token } from "../../../model/labels.js" */

/** @param {Token[]} tokens @param {number} at @param {(at: number) => void} choose */
export const chooser = (tokens, at, choose) =>
  h(
    "div",
    { class: "lesson-chooser", role: "group", "aria-label": t("lesson.looks_from") },
    h("span", { class: "dim" }, t("lesson.looks_from")),
    tokens.map((token, i) =>
      h(
        "button",
        {
          type: "button",
          class: "mono",
          "aria-pressed": i === at,
          dataset: { focus: i },
          on: { click: () => choose(i) },
        },
        tokenLabel(token),
      ),
    ),
  );
