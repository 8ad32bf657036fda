/** One word in two places: the vector that is looked up, that of the position, and their sum, number by number. */

import { stackOf } from "../../../model/description.js";
import { tokenLabel } from "../../../model/labels.js";
import { h, replace } from "../../../ui/dom.js";
import { number } from "../../../ui/format.js";
import { t } from "../../../ui/i18n.js";
import { cosine, rowOf } from "../live.js";
import { depthsOf } from "../measures/stream.js";
import { strip } from "./strip.js";

/** @import { Figure } from "./index.js" */

/** Values further from 0 than this have the last colour. */
const MOST = 0.2;

/** @type {Figure} */
export async function draw(root, live, { a, b }) {
  const { embedding } = stackOf(live.model, live.model.description.stacks[0].id);
  const [looked, positional] = [embedding.roles.embedding, embedding.roles.positional].map((one) => one?.tap ?? "");
  const [sum] = depthsOf(live);
  const names = { looked, positional, sum };
  const { tensors, tokens } = await live.tensors(Object.values(names));
  const block = (/** @type {number} */ at) =>
    h(
      "div",
      { class: "vector-block" },
      h(
        "h3",
        null,
        h("b", { class: "mono" }, tokenLabel(tokens[at])),
        h("small", { class: "dim" }, t("lesson.vectors.at", { at })),
      ),
      Object.entries(names).map(([name, tap]) =>
        h(
          "div",
          { class: `vector ${name}` },
          h("span", null, t(`lesson.vectors.${name}`)),
          strip(rowOf(tensors[tap], at), MOST, name === "sum" ? "tells" : ""),
        ),
      ),
    );
  const alike = (/** @type {string} */ tap) => number(cosine(rowOf(tensors[tap], a), rowOf(tensors[tap], b)), 2);
  replace(
    root,
    h("h2", { class: "lesson-caption" }, t("lesson.vectors.title", { n: live.model.d_model })),
    [a, b].map(block),
    h("p", { class: "lesson-figure-text dim" }, t("lesson.vectors.legend")),
    h(
      "p",
      { class: "lesson-figure-text tells", dataset: { testid: "lesson-alike" } },
      t("lesson.vectors.alike", { looked: alike(looked), sum: alike(sum) }),
    ),
  );
}
